// Package kafkalog reads the rows of a window of a Kafka topic.
//
// A log has no files and no end, but a dataset has both. So the ends of the window are frozen first. Then its rows are
// consumed once into the spool: a folder of Parquet files, one for each segment. Any tool can read the spool as a lake,
// and [Window.Open] opens it for the job. Segments are ranges of offsets. They are cut by counting rows, and ordered by
// their number within the partition, then by partition. So the same window gives the same spool, however it was
// fetched. [Replay] makes a spool from the segments that a certificate names.
//
// A window that closes at a number of rows gets its ends when it closes.
//
// Rows are those that a read-committed consumer sees. Damaged batches, missing offsets and records
// that cannot be read are errors that name the position.
package kafkalog
