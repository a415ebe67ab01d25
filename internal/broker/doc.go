// Package broker is a client of Apache Kafka for the adapters that read rows from topics and publish artifacts to them.
// It uses the low-level protocol of kafka-go, with an encoder and a decoder of record batches on franz-go's kmsg.
//
// kafka-go's decoder does not report where a batch ends (after compaction, not at its last record:
// a fetch from the next offset returns the same batch again), leaves out the records of batches
// that it cannot read, and does not bound the unpacked size of a batch. Its encoder cannot write a
// producer's id and sequence, without which a batch that is sent twice is stored twice.
package broker
