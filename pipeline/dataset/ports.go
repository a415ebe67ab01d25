// Package dataset has the ports through which rows come ([Rows], [Source]), and says which row is
// what: its split, whether it repeats another one, its scaled inputs.
package dataset

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/certify"
)

// A Shard is the unit of reading: one (file, row group) of a lake, or one
// (topic, partition, offset range) of a log. The order of shards is fixed, so
// that every row has an ordinal.
type Shard struct {
	First    int64    // ordinal of the shard's first row
	Rows     int64    // number of rows, as the source declares it (footer, offsets)
	Name     string   // for messages only: where the rows are; enters no digest
	Position Position // the same for programs; it enters no digest either

	// Segment is the position of the rows in a log, to replay them; nil outside logs.
	Segment *Segment
}

// A Position is the position of a shard's rows.
type Position struct {
	In   string // file, or topic
	Part int    // row group, or partition
	At   int64  // number of the first row in the file, or its offset
}

// A Segment is a shard of a log: see [certify.Segment].
type Segment = certify.Segment

// ColumnDigest is the SHA-256 of one column of one shard: over the float64
// bits of its values, little endian, in row order.
type ColumnDigest [32]byte

// Batches reads one shard once, from its first row to its last.
type Batches interface {
	// Next returns the next consecutive rows of the shard. It blocks until
	// they are decoded. After the last batch it returns io.EOF, then and on
	// every later call. A rejected row is an error that names file, row and column, unless
	// the source marks rejected rows.
	//
	// The record has the source's columns in their order, each an
	// [array.Float64] without nulls. If the source marks rejected rows, bad cells are NaN,
	// and a last column of strings has the reason of each rejected row, null for good ones. Bad cells
	// of features with a [job.Fill] ([job.Encodings.Fills]) are NaN in any case, and make no row bad.
	// The caller releases the record.
	Next(ctx context.Context) (arrow.Record, error)
	// ColumnDigests returns one digest a column of the source, in order. They are
	// valid after Next has returned io.EOF, which it does only behind the declared
	// number of rows.
	ColumnDigests() []ColumnDigest
	Close() error
}

// A Source is a frozen list of shards with named columns. Its methods may be
// called from several goroutines.
type Source interface {
	// Columns returns the names of the columns that batches carry: the
	// features, and last the target, where the source has one.
	Columns() []string
	// Shards returns the shards in order.
	Shards() []Shard
	// Open starts to read shard i again.
	Open(ctx context.Context, i int) (Batches, error)
}

// RowsIn is the number of rows of some shards.
func RowsIn(all []Shard, some []int) (n int64) {
	for _, i := range some {
		n += all[i].Rows
	}
	return n
}

// Among are those of some ordinals, which ascend, that are of the shard.
func (s Shard) Among(ordinals []int64) []int64 {
	from, _ := slices.BinarySearch(ordinals, s.First)
	to, _ := slices.BinarySearch(ordinals, s.First+s.Rows)
	return ordinals[from:to]
}

// SegmentsOf are the segments of a source's shards, nil unless all are segments.
func SegmentsOf(src Source) []Segment {
	var all []Segment
	for _, shard := range src.Shards() {
		if shard.Segment == nil {
			return nil
		}
		all = append(all, *shard.Segment)
	}
	return all
}

// RowsOf is the number of rows of a source.
func RowsOf(src Source) int64 {
	var n int64
	for _, shard := range src.Shards() {
		n += shard.Rows
	}
	return n
}

// A RejectedRow is one that breaks a row rule.
type RejectedRow struct {
	Shard  int       // index of its shard
	Row    int64     // its number in the shard, 0 first
	Reason string    // names each bad column, and its rule
	Values []float64 // of all columns; a bad one is NaN
}

// A Rejects keeps the rejected rows of a run.
type Rejects interface {
	// Put replaces its content with the rows that each passes to its argument, in their
	// order, atomically and durably. A row's values are valid until that call returns.
	Put(ctx context.Context, columns []string, shards []Shard, each func(func(RejectedRow) error) error) error
}
