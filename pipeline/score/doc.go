// Package score predicts new rows with the model that a pointer names.
//
// A [Reader] reads units: files, or batches of records of a topic. Before each unit the [Follower] reads the pointer,
// and one model predicts all rows of the unit. A model that does not fit is refused, and the earlier one stays. A unit
// is divided into pieces, which several goroutines predict and pack for a [Writer]. One goroutine sends the pieces in
// their order and commits them. Committed rows are predicted once, even if the process is killed and started again.
//
// The package names no file and no broker, and has no clock of its own.
package score
