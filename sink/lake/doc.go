// Package lake publishes artifacts in a directory of a file system, so that
// what is visible there is always either whole or absent.
//
// Every file is written under a hidden name next to its destination, synced
// and renamed, and then the directory is synced. A job that was killed at any
// moment, or met a full disk, leaves only hidden files, which the next [Open]
// removes. Run again, the job writes the same bytes.
//
// An address s3://bucket/prefix is such a directory in a store: an object replaces a file, and
// the lock excludes no process: of two writers of an object the slower one fails ([objects.Files]).
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
//	schedule.json                  what a schedule keeps of its job: see [schedule.State]
//	log.json                       the different jobs that were begun
//	checkpoint-<sha256>            state of an unfinished training, by the digest of its configuration
//	.lock                          locked while a job works in the directory
package lake
