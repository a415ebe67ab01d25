package pipeline

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/certify"
)

// A Shard is the unit of reading: one (file, row group) of a lake, or one
// (topic, partition, offset range) of a log. The order of shards is fixed, so
// that every row has an ordinal.
type Shard struct {
	First int64  // ordinal of the shard's first row
	Rows  int64  // number of rows, as the source declares it (footer, offsets)
	Name  string // for messages only: where the rows are; enters no digest
	Place Place  // the same for programs; it enters no digest either

	// Segment is the place of the rows in a log, to replay them; nil outside logs.
	Segment *Segment
}

// A Place is the place of a shard's rows.
type Place struct {
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
	// every later call. A bad row is an error that names file, row and column, unless
	// the source marks bad rows.
	//
	// The record has the source's columns in their order, each an
	// [array.Float64] without nulls. If the source marks bad rows, bad cells are NaN,
	// and a last column of strings has the reason of each bad row, null for good ones. Bad cells
	// of features with a [Fill] ([Encodings.Fills]) are NaN in any case, and make no row bad.
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
	// Open starts to read shard i anew.
	Open(ctx context.Context, i int) (Batches, error)
}

// A Sink keeps what a job produces. What it has acknowledged is durable and
// whole; putting the same thing twice is harmless.
type Sink interface {
	// PutModel encodes and stores a model and returns the SHA-256 of its
	// bytes, in hexadecimal. A sink may publish it only with its first
	// certificate.
	PutModel(ctx context.Context, m Model) (digest string, err error)
	// GetModel reads the model of that digest back from its stored bytes.
	GetModel(ctx context.Context, digest string) (Model, error)
	// PutCertificate stores a certificate in all its forms and returns its
	// id: the SHA-256 of its JSON document, in hexadecimal.
	PutCertificate(ctx context.Context, c certify.Certificate) (id string, err error)
}

// Checkpoints keeps the one latest checkpoint of a job. It outlives the process.
type Checkpoints interface {
	// Save replaces the checkpoint atomically and durably. It does not keep state.
	Save(ctx context.Context, state []byte) error
	// Load returns the checkpoint, or nil if there is none. A damaged one
	// is an error. The caller owns the bytes.
	Load(ctx context.Context) ([]byte, error)
	// Clear removes the checkpoint, if there is one.
	Clear(ctx context.Context) error
}
