package lake

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// isArrow reports whether a file begins like an Arrow IPC file.
func isArrow(file io.ReaderAt) bool {
	head := make([]byte, len(arrowipc.Magic))
	n, _ := file.ReadAt(head, 0) // a later read reports the error
	return string(head[:n]) == arrowipc.Magic
}

// describeArrow reads the footer of an Arrow file; its record batches are its row groups.
func describeArrow(_ context.Context, file objects.File, l listed) (*dataFile, error) {
	in, err := arrowipc.Open(file, file.Size(), true)
	if err != nil {
		return nil, err
	}
	f := &dataFile{listed: l, sum: in.Sum, size: file.Size(), arrow: true}
	for i, field := range in.Schema.Fields() {
		f.columns = append(f.columns, arrowColumn(field, i))
	}
	if frame, ok := in.Schema.Metadata().GetValue(pandasKey); ok {
		markIndex(f.columns, []byte(frame))
	}
	for i, b := range in.Batches {
		if b.Rows > maxSample-f.rows || b.Rows > arrowRowsPerByte*b.Bytes {
			return nil, fmt.Errorf("it claims %d rows in %d bytes: %w", b.Rows, b.Bytes, errMalformed)
		}
		if b.Rows > 0 {
			f.groups = append(f.groups, group{index: i, first: f.rows, rows: b.Rows, batch: b})
		}
		f.rows += b.Rows
	}
	return f, nil
}

// arrowRowsPerByte bounds the rows of a record batch, by its stored bytes: well packed booleans.
const arrowRowsPerByte = 1 << 13

// arrowColumn decides how the values of a field become float64.
func arrowColumn(field arrow.Field, position int) column {
	c := column{leaf: position}
	if field.Nullable {
		c.deep = 1
	}
	c.Name, c.Type = field.Name, field.Type.String()
	typ := field.Type
	if d, ok := typ.(*arrow.DictionaryType); ok {
		typ = d.ValueType
	}
	switch t := typ.(type) {
	case *arrow.Float64Type, *arrow.Float32Type, *arrow.Float16Type, *arrow.Decimal128Type,
		*arrow.Int64Type, *arrow.Int32Type, *arrow.Int16Type, *arrow.Int8Type,
		*arrow.Uint64Type, *arrow.Uint32Type, *arrow.Uint16Type, *arrow.Uint8Type:
	case *arrow.BooleanType:
		c.Type = aBoolean
	case *arrow.Date32Type, *arrow.Date64Type:
		c.Use, c.kind = ingest.OnRequest, kindDate
	case *arrow.TimestampType:
		c.Use, c.kind, c.zone = ingest.OnRequest, kindTimestamp, job.MeansUTC
		if t.TimeZone == "" {
			c.zone = job.MeansLocalTime
		}
	case *arrow.StringType, *arrow.LargeStringType, *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.FixedSizeBinaryType:
		c.Use, c.Why = ingest.Unusable, hintText
	case arrow.NestedType:
		c.Use, c.Why = ingest.Unusable, hintNested
	default:
		c.Use, c.Why = ingest.Unusable, hintCast
	}
	return c
}

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
		return fmt.Errorf("lake: %s, record batch %d: %w", b.shard.file.path, b.shard.group.index, err)
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
