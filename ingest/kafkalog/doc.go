// Package kafkalog reads the rows of a window of a Kafka topic.
//
// A log has no files and no end; a sample has both. So the ends of the window are frozen first,
// then its rows are consumed once into the spool: a folder of Parquet files, one a segment, which
// any tool reads as a lake and [Window.Open] opens for the job. Segments are ranges of offsets.
// They are cut by counting rows, and ordered by their number within the partition, then by
// partition, so that the same window gives the same spool however it was fetched. [Replay] makes a
// spool of the segments that a certificate names.
//
// A window without declared ends (rows) is frozen when it closes.
//
// Rows are those that a read-committed consumer sees. A damaged batch, missing offsets and a record
// that cannot be read are errors that name the position.
package kafkalog
