package lake

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// isArrow reports whether a file begins like an Arrow IPC file.
func isArrow(file io.ReaderAt) bool {
	head := make([]byte, len(arrowipc.Magic))
	n, _ := file.ReadAt(head, 0) // a later read reports the error
	return string(head[:n]) == arrowipc.Magic
}

// describeArrow reads the footer of an Arrow file; its record batches are its row groups.
func describeArrow(_ context.Context, file objects.File) (*dataFile, error) {
	in, err := arrowipc.Open(file, file.Size(), true)
	if err != nil {
		return nil, err
	}
	f := &dataFile{File: dataset.File{Footer: in.Sum}, arrow: true}
	for i, field := range in.Schema.Fields() {
		f.columns = append(f.columns, arrowColumn(field, i))
	}
	if frame, ok := in.Schema.Metadata().GetValue(pandasKey); ok {
		markIndex(f.columns, []byte(frame))
	}
	for i, b := range in.Batches {
		if b.Rows > maxSample-f.Rows || b.Rows > arrowRowsPerByte*b.Bytes {
			return nil, fmt.Errorf("it claims %d rows in %d bytes: %w", b.Rows, b.Bytes, errMalformed)
		}
		if b.Rows > 0 {
			f.groups = append(f.groups, group{index: i, first: f.Rows, rows: b.Rows, batch: b})
		}
		f.Rows += b.Rows
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
