package lake

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
)

// An arrowBatch is a record batch that is read.
type arrowBatch struct {
	record  arrow.Record
	columns []arrow.Array // by used column; nil: a key of the path
}

func (a *arrowBatch) has(j int) bool { return a != nil && a.columns[j] != nil }

func (a *arrowBatch) release() {
	if a != nil && a.record != nil {
		a.record.Release()
		a.record, a.columns = nil, nil
	}
}

func (b *batches) startArrow(in *arrowipc.File) error {
	b.arrow = &arrowBatch{columns: make([]arrow.Array, len(b.src.columns))}
	// Stored and unpacked: packed columns of numbers have about a quarter of their size.
	err := (&share{allowance: &b.tools.pages}).reserve(5 * b.shard.group.batch.Bytes)
	if err == nil {
		err = guard(func() (err error) {
			b.arrow.record, err = in.Read(b.file, b.shard.group.batch)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("lake: %s, record batch %d: %w", b.shard.file.Path, b.shard.group.index, err)
	}
	return b.columns(func(j int, col *column) error {
		column := b.arrow.record.Column(col.leaf)
		if err := arrowipc.Nulls(column); err != nil {
			return err
		}
		b.arrow.columns[j] = column
		return nil
	})
}

func (b *batches) readArrow(j int, values []float64) error {
	return guard(func() error {
		slice := array.NewSlice(b.arrow.columns[j], b.read, b.read+int64(len(values)))
		defer slice.Release()
		got, err := arrowipc.Append(values[:0:len(values)], slice)
		if err == nil && len(got) != len(values) {
			err = fmt.Errorf("%d values for %d rows: %w", len(got), len(values), errMalformed)
		}
		if err != nil {
			return err
		}
		copy(values, got) // a no-op unless Append had to reallocate
		_, _, b.finite[j] = ingest.Check(values)
		return nil
	})
}
