package kafkalog

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Open opens a segment. Its rejected rows have the reasons of their records.
func (s *Source) Open(ctx context.Context, i int) (dataset.Batches, error) {
	b, err := s.Source.Open(ctx, i)
	if err != nil || !s.marks {
		return b, err
	}
	return &reasoned{Batches: b, path: s.paths[i]}, nil
}

// reasoned are the batches of a segment with the reasons in its file: its values tell only that
// something is missing.
type reasoned struct {
	dataset.Batches

	path   string
	at     int64        // rows that were read
	stored *lake.Stored // the reasons; nil: none was wanted yet
	next   int64        // row of stored
}

// Next returns the next rows.
func (b *reasoned) Next(ctx context.Context) (arrow.Record, error) {
	record, err := b.Batches.Next(ctx)
	if err != nil {
		return nil, err
	}
	last := int(record.NumCols()) - 1
	first, found := b.at, record.Column(last).(*array.String)
	if b.at += record.NumRows(); found.NullN() == found.Len() {
		return record, nil
	}
	defer record.Release()
	reasons, err := b.reasons(ctx, first)
	if err != nil {
		return nil, err
	}
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	defer builder.Release()
	for i := range found.Len() {
		switch {
		case found.IsNull(i):
			builder.AppendNull()
		case reasons[i].IsNull():
			builder.Append(found.Value(i))
		default:
			builder.Append(string(reasons[i].ByteArray()))
		}
	}
	column := builder.NewArray()
	defer column.Release()
	return array.NewRecord(record.Schema(), append(record.Columns()[:last:last], column), record.NumRows()), nil
}

// reasons are those of the rows from first up to those that were read.
func (b *reasoned) reasons(ctx context.Context, first int64) ([]parquet.Value, error) {
	if b.stored == nil {
		var err error
		if b.stored, err = lake.OpenStored(ctx, b.path, []string{columnReason}, 0); err != nil { // a spool of an earlier version has none
			b.stored = nil
			return make([]parquet.Value, b.at-first), nil //nolint:nilerr // the rows themselves were read
		}
	}
	if _, err := b.stored.Next(ctx, int(first-b.next)); err != nil {
		return nil, err
	}
	values, err := b.stored.Next(ctx, int(b.at-first))
	b.next = b.at
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// Close closes the segment.
func (b *reasoned) Close() error {
	err := b.Batches.Close()
	if b.stored != nil {
		err = errors.Join(err, b.stored.Close())
	}
	return err
}
