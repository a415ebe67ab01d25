// Package stream trains and certifies a topic in windows, one after the other.
//
// A [Stream] works for a member of a group while the member keeps its partitions: a [Session].
// One goroutine fills windows; another certifies full ones, all into one output. The number of a
// certificate is reserved, and noted with the model that training begins with, before its bound is known;
// rows are committed together with their certificate, and the output's pointer follows the log's. A stream
// that is killed at any moment and started again puts every row into one certificate and gives no
// number to two.
//
// The package names no file and no broker, and has no clock of its own.
package stream
