// Package schedule trains jobs when they are due, and keeps the pointer of each output on the
// certificate that the job's rule of promotion chooses.
//
// A [Scheduler] decides by the time, the contents of a [Lake] or a [Topic], and its record. A
// job's output keeps the numbers of its sequence, the end of its windows and the records of its
// runs; a [Record] keeps the rest, a small [State] a job. A run holds the output from its number
// to its pointer. A scheduler that is killed at any moment and started again gives no number to
// two certificates and leaves no row of a topic out.
//
// The package names no file and no broker, and has no clock of its own.
package schedule
