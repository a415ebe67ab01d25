// Package pipeline is the stage: from the rows of a [Source] to a model and its
// certificate in a [Sink].
//
// # One batch's way
//
// A source is a frozen list of shards. Every reading of them is a fold: each shard
// gives a partial result, and those merge to the same bytes in any order ([Pass]). So
// several workers read and score shards at the same time, and several processes may.
//
// In the first pass (survey) a batch gives its reference rows, which a keyed
// hash of the ordinal picks, to the scaling, and its values to the sample's
// digest. In training its other rows are scaled (scaler) and reach the trainer
// of package model through a feed: in ordinal order for full passes, through a
// shuffle buffer for mini-batches, from memory if they fit the budget. In the
// last pass, from a source opened again and a model read back from its bytes, each
// train row gives its expected loss to an exact sum; all that pass gets from training
// is a [Handover]. What it found (lastPassResult) goes to package certify as plain
// numbers, and the certificate to the sink.
//
// [Run] is that way; [Verify] walks the last part of it again for anybody who
// holds model, certificate and rows.
//
// The package declares the ports that adapters implement; package pipelinetest
// holds their contracts as tests. It names no file format, no broker and no clock that
// could change a result.
package pipeline
