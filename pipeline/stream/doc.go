// Package stream divides a topic into consecutive windows, and trains and certifies a model on each.
//
// [Stream.Run] works for a member of a consumer group as long as the member's partitions stay the same. One goroutine
// fills windows, and another certifies full ones, all into one output. Before the bound of a certificate is known,
// its number is reserved and noted, together with the model that training begins with. The offsets of rows are
// committed together with their certificate. The output's pointer follows that of the log. A stream may be killed at
// any moment and started again: every row is then in one certificate, and no number belongs to two.
//
// The package names no file and no broker, and has no clock of its own.
package stream
