// Package ingest has the parts that all kinds of sources share: the choice of columns ([Select]), the rules that make a
// row bad ([Fault], [RejectedRowError]) and the Arrow record batch of rows ([Records]).
//
// One row's way: an adapter ([github.com/pacsgp/pacsgp/ingest/lake]) decodes its columns to float64, one slice per
// column; [Check] finds bad cells; [Records.New] wraps the slices, without a copy, as the record batch that the
// pipeline reads.
//
// A bad cell is a NaN whose low bits hold the fault (see [Fault.Cell]), so decoding loops need no second result for
// faults. An entry of a dictionary can also be bad, before it is known which rows refer to it.
package ingest
