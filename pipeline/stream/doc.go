// Package stream trains and certifies a topic in windows, one behind the other.
//
// A [Stream] works for a member of a group as long as that has the same partitions: a [Tenure].
// One goroutine fills windows; another certifies full ones and, for jobs of mode arrival, trains
// meanwhile on the rows of the open one. The number of a certificate is taken and noted before its
// bound is known; rows are committed with what is published of them. Killed at any moment and
// begun again, a stream puts every row into one certificate and gives no number to two.
//
// The package names no file and no broker, and has no clock of its own.
package stream
