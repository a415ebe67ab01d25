// Package schedule trains jobs when they are due, and moves the pointer of each output to the certificate that the
// job's rule of promotion chooses.
//
// A [Scheduler] decides by the time, by the contents of a [Lake] or a [Topic], and by what it has stored in the job's
// output: a small state, written when a run reserves its number, and a record of each run, written when the run begins
// and when it ends. A run holds the output from the reservation to the end. A scheduler may be killed at any moment and
// started again: no number then belongs to two certificates, and no row of a topic is left out.
//
// The package names no file and no broker, and has no clock of its own.
package schedule
