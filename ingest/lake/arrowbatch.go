package lake

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
)

// startArrow reads the record batch of an Arrow file, whose columns have no cursors.
func (b *batches) startArrow(in *arrowipc.File) error {
	// Stored and unpacked: packed columns of numbers have about a quarter of their size.
	err := b.tools.pages.reserve(5 * b.shard.group.batch.Bytes)
	if err == nil {
		err = guard(func() (err error) {
			b.record, err = in.Read(b.file, b.shard.group.batch)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("lake: %s, record batch %d: %w", b.shard.file.Path, b.shard.group.index, err)
	}
	return b.columns(func(j int, col *column) error {
		b.arrays[j] = b.record.Column(col.leaf)
		return arrowipc.Nulls(b.arrays[j])
	})
}

func (b *batches) readArrow(j int, values []float64) error {
	return guard(func() error {
		slice := array.NewSlice(b.arrays[j], b.read, b.read+int64(len(values)))
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
