// Package schedule trains jobs when they are due, and keeps the pointer of each output on the
// certificate that the job's rule of promotion chooses.
//
// A [Scheduler] decides by the time, the contents of a [Lake] or a [Topic], and what the output of a
// job keeps of it: a small state, which is written when a run reserves its number, and a record of
// each run, written when it begins and when it ends. What follows from an end is read from its record.
// A run holds the output from its number to its end. A scheduler that is killed at any moment and
// started again gives no number to two certificates and leaves no row of a topic out.
//
// The package names no file and no broker, and has no clock of its own.
package schedule
