// Package lake publishes artifacts in a directory of a file system. A file there is visible either whole or not at
// all, as package durable writes it. A job that is killed, or meets a full disk, leaves only hidden files, which the
// next [Open] removes. If it is run again, it writes the same bytes.
//
// The directory can also be in an object store, as s3://bucket/prefix. A file is then an object, and the lock does
// not keep other processes out: of two writers of one object the slower one fails ([objects.Files]).
//
// The directory of a job:
//
//	model-<sha256>.parquet         by the SHA-256 of its bytes
//	certificate-<sha256>.json      by the SHA-256 of its bytes
//	certificate-<sha256>.parquet   the same certificate as one row, by the same name
//	manifest-<sha256>.json         the files of its sample, by the same name
//	current.json                   which certificate and model are current
//	run-<began>-<run>.json         the record of each run: running, failed or finished
//	run.json                       the report of the latest run that finished
//	schedule.json                  state of a schedule of this job: see [schedule.State]
//	log.json                       the different jobs that were started here
//	checkpoint-<sha256>            state of an unfinished training, by the digest of its configuration
//	.lock                          locked while a job works in the directory
package lake
