// Package ingest holds what every kind of source does with rows between
// decoding and handing them on: which columns a job uses ([Select]), what makes
// a row bad ([Fault], [BadRowError]), the digest of a column ([Digester]) and
// the Arrow record batch that carries the rows ([Records]).
//
// One row's way: an adapter ([github.com/pacsgp/pacsgp/ingest/lake]) decodes
// its columns to float64, one slice a column; [Check] looks for bad cells; a
// [Digester] hashes each column; [Records.New] wraps the slices, without a copy,
// as the record batch that the pipeline reads.
//
// Bad cells travel as NaN whose low bits say what is wrong (see [Fault.Cell]),
// so that decoding loops need no second channel for faults: also an entry of a
// dictionary can be bad before anybody knows which rows refer to it.
package ingest
