// Package dataset defines the ports through which rows are read ([Rows], [Source]), splits the rows into subsets,
// marks them to find duplicates, and scales and encodes their values.
package dataset

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/certify"
)

// A Shard is the unit of reading: one (file, row group) of a lake, or one (topic, partition, offset range) of a log.
// The order of shards is fixed, so that every row has an ordinal.
type Shard struct {
	First    int64    // ordinal of the shard's first row
	Rows     int64    // number of rows, as the source declares it (footer, offsets)
	Name     string   // where the rows are, for messages; not part of a digest
	Position Position // the same for programs; not part of a digest

	// Segment is the position of the rows in a log, from which they can be replayed. It is nil for other sources.
	Segment *Segment
}

// A Position says where a shard's rows are.
type Position struct {
	In   string // file, or topic
	Part int    // row group, or partition
	At   int64  // number of the first row in the file, or its offset
}

// A Segment is the position of a shard in a log.
type Segment = certify.Segment

// ColumnDigest is the SHA-256 of one column of one shard: over the float64
// bits of its values, little endian, in row order.
type ColumnDigest [32]byte

// Batches reads one shard once, from its first row to its last.
type Batches interface {
	// Next returns the next consecutive rows of the shard. It blocks until they are decoded. After the last batch
	// every call returns io.EOF. A rejected row is an error that names file, row and column, unless the source marks
	// rejected rows.
	//
	// The record has the source's columns in their order, each an [array.Float64] without nulls. If the source marks
	// rejected rows, bad cells are NaN, and a last column of strings has the reason for each rejected row and null
	// for the others. Bad cells of features with a [job.Fill] are always NaN, and do not make a row rejected. The
	// caller releases the record.
	Next(ctx context.Context) (arrow.Record, error)
	// ColumnDigests returns one digest for each column of the source, in order. They are valid after Next has
	// returned io.EOF, which it does only after the declared number of rows.
	ColumnDigests() []ColumnDigest
	Close() error
}

// A Source is a list of shards with named columns. The list does not change. The methods may be called from several
// goroutines.
type Source interface {
	// Columns returns the names of the columns of batches. The target, if the source has one, is the last.
	Columns() []string
	// Shards returns the shards in order.
	Shards() []Shard
	// Open starts to read shard i from its first row. A shard can be opened again.
	Open(ctx context.Context, i int) (Batches, error)
}

// Among returns those of the ordinals, which ascend, that are in the shard.
func (s Shard) Among(ordinals []int64) []int64 {
	from, _ := slices.BinarySearch(ordinals, s.First)
	to, _ := slices.BinarySearch(ordinals, s.First+s.Rows)
	return ordinals[from:to]
}

// SegmentsOf returns the segments of a source's shards, or nil if a shard has none.
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

// RowsOf returns the number of rows of a source.
func RowsOf(src Source) (n int64) {
	for _, shard := range src.Shards() {
		n += shard.Rows
	}
	return n
}

// A RejectedRow is a row that breaks a row rule.
type RejectedRow struct {
	Shard  int       // index of its shard
	Row    int64     // its number in the shard, from 0
	Reason string    // names each bad column and what is wrong with it
	Values []float64 // of all columns; bad ones are NaN
}

// A Rejects stores the rejected rows of a run.
type Rejects interface {
	// Put replaces the stored rows, atomically and durably, by those that each passes to its argument, in their
	// order. The Values of a row are valid until the function that received it returns.
	Put(ctx context.Context, columns []string, shards []Shard, each func(func(RejectedRow) error) error) error
}
