package lake

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
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

// arrowColumn describes a field by the leaf of a Parquet file that holds the same values.
func arrowColumn(field arrow.Field, position int) column {
	typ := field.Type
	if d, ok := typ.(*arrow.DictionaryType); ok {
		typ = d.ValueType
	}
	e, known := arrowElement(typ)
	c := leafColumn(&e, position)
	switch t := typ.(type) {
	case *arrow.Date64Type:
		c.Use, c.Why, c.kind, c.width = ingest.OnRequest, "", kindDate64, 8
	case *arrow.TimestampType:
		c.digits = 3 * int(t.Unit)
	case *arrow.Decimal128Type: // Arrow has decimals with zeros that are not stored, at both ends
		if t.Precision >= 1 && t.Precision <= 38 {
			c.Use, c.Why = ingest.Numeric, ""
		}
	case arrow.NestedType:
		c.Use, c.Why = ingest.Unusable, hintNested
	default:
		if !known {
			c.Use, c.Why = ingest.Unusable, hintCast
		}
	}
	if c.Name, c.Text = field.Name, false; c.Type != aBoolean {
		c.Type = field.Type.String()
	}
	if field.Nullable {
		c.deep = 1
	}
	return c
}

// arrowElement describes a type of Arrow as Parquet does; false if it does not. Parquet has no seconds: they
// become milliseconds.
func arrowElement(typ arrow.DataType) (e parquetmeta.Element, known bool) {
	e = parquetmeta.Element{Name: "value", Converted: -1, Physical: format.ByteArray}
	switch t := typ.(type) {
	case *arrow.BooleanType:
		e.Physical = format.Boolean
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		bits := t.(arrow.FixedWidthDataType).BitWidth()
		if e.Physical = format.Int32; bits == 64 {
			e.Physical = format.Int64
		}
		e.Logical = parquetmeta.Logical{Kind: parquetmeta.LogicalInteger, Bits: int8(bits), Signed: arrow.IsSignedInteger(t.ID())}
	case *arrow.Float16Type:
		e.Physical, e.Length, e.Logical.Kind = format.FixedLenByteArray, 2, parquetmeta.LogicalFloat16
	case *arrow.Float32Type:
		e.Physical = format.Float
	case *arrow.Float64Type:
		e.Physical = format.Double
	case *arrow.StringType, *arrow.LargeStringType:
		e.Logical.Kind = parquetmeta.LogicalString
	case *arrow.BinaryType, *arrow.LargeBinaryType:
	case *arrow.FixedSizeBinaryType:
		e.Physical, e.Length = format.FixedLenByteArray, int32(t.ByteWidth)
	case *arrow.Date32Type:
		e.Physical, e.Logical.Kind = format.Int32, parquetmeta.LogicalDate
	case *arrow.TimestampType:
		e.Physical = format.Int64
		e.Logical = parquetmeta.Logical{Kind: parquetmeta.LogicalTimestamp, Unit: max(int16(t.Unit), parquetmeta.UnitMillis), UTC: t.TimeZone != ""}
	case *arrow.Decimal128Type:
		e.Physical, e.Length = format.FixedLenByteArray, 16
		e.Logical = parquetmeta.Logical{Kind: parquetmeta.LogicalDecimal, Precision: t.Precision, Scale: t.Scale}
	default:
		return parquetmeta.Element{}, false
	}
	return e, true
}
