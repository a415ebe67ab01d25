// Package score predicts rows with the model that a pointer names, as rows come and as the
// pointer moves.
//
// A [Reader] hands on units: files, or batches of records of a topic. Before each unit the
// [Follower] looks up the pointer, so that one model predicts all rows of a unit, and a
// model that does not fit is refused while the earlier one stays. A unit is cut into
// pieces, which several goroutines predict and pack for a [Writer]. One goroutine sends them
// in their order and commits: what is committed has its predictions, once, for this process
// and for the next one.
//
// The package names no file and no broker, and has no clock of its own.
package score
