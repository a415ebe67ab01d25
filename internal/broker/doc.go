// Package broker speaks to Apache Kafka for the adapters that read rows from topics
// and publish artifacts to them: a client on the low-level protocol of kafka-go, and
// the record batches of version 2, which are encoded and decoded here.
//
// They are decoded here because kafka-go's decoder does not tell where a batch ends
// (after compaction the last record of a batch is not its end, and who asks for the
// offset behind that record gets the same batch again), leaves out the records of a
// batch that it cannot read, and does not bound what a batch may unpack to. They are
// encoded here because kafka-go cannot write a producer's id and sequence, without which
// a batch that is sent twice is stored twice.
package broker
