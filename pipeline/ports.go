package pipeline

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
)

// A Shard is the unit of reading: one (file, row group) of a lake, or one
// (topic, partition, offset range) of a log. The order of shards is fixed, so
// that every row has an ordinal.
type Shard struct {
	First int64  // ordinal of the shard's first row
	Rows  int64  // number of rows, as the source declares it (footer, offsets)
	Name  string // for messages only: where the rows are; enters no digest
}

// ColumnDigest is the SHA-256 of one column of one shard: over the float64
// bits of its values, little endian, in row order.
type ColumnDigest [32]byte

// Batches reads one shard once, from its first row to its last.
type Batches interface {
	// Next returns the next consecutive rows of the shard. It blocks until
	// they are decoded. After the last batch it returns io.EOF, then and on
	// every later call. A bad row is an error that names file, row and column.
	//
	// The record has the source's columns in their order, each an
	// [array.Float64] without nulls. The caller releases it.
	Next(ctx context.Context) (arrow.Record, error)
	// ColumnDigests returns one digest a column of the source, in order. It
	// is valid after Next has returned io.EOF, which it does only if the
	// number of rows was the declared one.
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
	// Open starts to read shard i anew.
	Open(ctx context.Context, i int) (Batches, error)
}
