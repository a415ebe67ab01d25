// Package schedule trains jobs when they are due, and keeps the pointer of each output on the
// certificate that the job's rule of promotion chooses.
//
// A [Scheduler] decides by what it is told: the time, what a [Lake] or a [Topic] has, and what
// was noted. The numbers of a job's sequence, how far its windows are, and the records of its
// runs stand in the job's output; the rest is a small [State] a job, which a [Record] keeps. A
// run holds the output from its number to its pointer. Killed at any moment and begun again, a
// scheduler gives no number to two certificates and leaves no row of a topic out.
//
// The package names no file and no broker, and has no clock of its own.
package schedule
