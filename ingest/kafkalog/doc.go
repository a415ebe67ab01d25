// Package kafkalog reads the rows of a window of a Kafka topic.
//
// A log has no files and no end; a sample has both. So the ends of the window are frozen first,
// then its rows are consumed once, into the spool: a folder of Parquet files, one a segment, which
// any tool reads as a lake and [Window.Open] opens for the job. Segments are ranges of offsets,
// cut by counting rows and ordered by their number within their partition, then by partition: the
// same window gives the same spool however it was fetched. [Replay] makes a spool of segments that
// a certificate names.
//
// A window whose ends are open (rows, for) is frozen when it closes. Rows of a stream
// ([SpoolStream]) go into the same spool, and have no segments.
//
// Rows are those of a transactional consumer: no markers, no records of transactions that were
// aborted or have not ended. A damaged batch, missing offsets and a record without a row are
// errors that name the place.
package kafkalog
