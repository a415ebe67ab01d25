// Package lake publishes artifacts in a directory of a file system, so that
// what is visible there is always either whole or absent.
//
// Every file is written under a hidden name beside its destination, synced,
// renamed, and the directory synced. A job that was killed at any moment, or
// that met a full disk, leaves at most hidden files, which the next
// [Open] removes; the job run again writes the same bytes.
//
// The directory of a job:
//
//	model-<sha256>.parquet         by the SHA-256 of its bytes
//	certificate-<sha256>.json      by the SHA-256 of its bytes
//	certificate-<sha256>.parquet   the same certificate as one row, by the same name
//	manifest-<sha256>.json         the files of its sample, by the same name
//	current.json                   which certificate and model are current
//	run-<began>-<run>.json         a record of each run: running, failed or finished
//	run.json                       that of the latest run that finished
//	sequences.json                 which numbers the sequences of a schedule have taken
//	attempts.jsonl                 one line for each different job that was begun
//	checkpoint-<sha256>            state of an unfinished training, by the digest of its configuration
//	.lock                          held while a job works in the directory
package lake
