// Package broker speaks to Apache Kafka for the adapters that read rows from topics and publish
// artifacts to them: a client on the low-level protocol of kafka-go, with an encoder and a decoder
// of record batches of its own.
//
// kafka-go's decoder does not tell where a batch ends (after compaction that is not its last
// record, and the offset behind that record fetches the same batch again), leaves out the records
// of a batch that it cannot read, and does not bound what a batch unpacks to. Its encoder cannot
// write a producer's id and sequence, without which a batch that is sent twice is stored twice.
package broker
