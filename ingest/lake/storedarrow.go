package lake

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/parquet-go/parquet-go"
)

// arrowNode returns the type in the schema of a Parquet file that has the meaning of a type of Arrow.
func arrowNode(typ arrow.DataType) (parquet.Node, error) {
	switch t := typ.(type) {
	case *arrow.DictionaryType:
		return arrowNode(t.ValueType)
	case *arrow.BooleanType:
		return parquet.Leaf(parquet.BooleanType), nil
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		return parquet.Int(t.(arrow.FixedWidthDataType).BitWidth()), nil
	case *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return parquet.Uint(t.(arrow.FixedWidthDataType).BitWidth()), nil
	case *arrow.Float32Type:
		return parquet.Leaf(parquet.FloatType), nil
	case *arrow.Float64Type:
		return parquet.Leaf(parquet.DoubleType), nil
	case *arrow.StringType, *arrow.LargeStringType:
		return parquet.String(), nil
	case *arrow.BinaryType, *arrow.LargeBinaryType:
		return parquet.Leaf(parquet.ByteArrayType), nil
	case *arrow.FixedSizeBinaryType:
		if t.ByteWidth >= 1 && t.ByteWidth <= maxFixed {
			return parquet.Leaf(parquet.FixedLenByteArrayType(t.ByteWidth)), nil
		}
	case *arrow.Date32Type:
		return parquet.Date(), nil
	case *arrow.TimestampType:
		return parquet.TimestampAdjusted(arrowUnits[t.Unit], t.TimeZone != ""), nil
	case *arrow.Decimal128Type:
		if t.Precision >= 1 && t.Scale >= 0 && t.Scale <= t.Precision && t.Precision <= 38 {
			return parquet.Decimal(int(t.Scale), int(t.Precision), parquet.FixedLenByteArrayType(arrow.Decimal128SizeBytes)), nil
		}
	}
	return nil, fmt.Errorf("%w: it is %s", ErrNotKept, typ)
}

// arrowUnits are the units of times. Parquet has no seconds: they become milliseconds.
var arrowUnits = map[arrow.TimeUnit]parquet.TimeUnit{
	arrow.Second: parquet.Millisecond, arrow.Millisecond: parquet.Millisecond, arrow.Microsecond: parquet.Microsecond, arrow.Nanosecond: parquet.Nanosecond,
}

// storedArray returns a function that reads the next values of a column of a record batch.
func storedArray(of arrow.Array, rows int64) func(dst []parquet.Value) error {
	at := 0
	return func(dst []parquet.Value) (err error) {
		if int64(of.Len()) != rows {
			return fmt.Errorf("%d values for %d rows: %w", of.Len(), rows, errMalformed)
		}
		for i := range dst {
			if dst[i], err = arrowValue(of, at); err != nil {
				return err
			}
			at++
		}
		return nil
	}
}

// arrowValue returns a value of an array, in the type of arrowNode.
func arrowValue(column arrow.Array, i int) (parquet.Value, error) {
	if column.IsNull(i) {
		return parquet.Value{}, nil
	}
	switch a := column.(type) {
	case *array.Dictionary:
		if k := a.GetValueIndex(i); k >= 0 && k < a.Dictionary().Len() {
			return arrowValue(a.Dictionary(), k)
		}
		return parquet.Value{}, fmt.Errorf("an index beyond its dictionary: %w", errMalformed)
	case *array.Boolean:
		return parquet.BooleanValue(a.Value(i)), nil
	case *array.Int8:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Int16:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Int32:
		return parquet.Int32Value(a.Value(i)), nil
	case *array.Int64:
		return parquet.Int64Value(a.Value(i)), nil
	case *array.Uint8:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Uint16:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Uint32:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Uint64:
		return parquet.Int64Value(int64(a.Value(i))), nil
	case *array.Float32:
		return parquet.FloatValue(a.Value(i)), nil
	case *array.Float64:
		return parquet.DoubleValue(a.Value(i)), nil
	case *array.String:
		return parquet.ByteArrayValue([]byte(a.Value(i))), nil
	case *array.LargeString:
		return parquet.ByteArrayValue([]byte(a.Value(i))), nil
	case *array.Binary:
		return parquet.ByteArrayValue(append([]byte{}, a.Value(i)...)), nil
	case *array.LargeBinary:
		return parquet.ByteArrayValue(append([]byte{}, a.Value(i)...)), nil
	case *array.FixedSizeBinary:
		return parquet.FixedLenByteArrayValue(append([]byte{}, a.Value(i)...)), nil
	case *array.Date32:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Timestamp:
		return timeValue(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit)
	case *array.Decimal128:
		return decimalValue(a.Value(i)), nil
	default:
		return parquet.Value{}, fmt.Errorf("%w: it is %s", ErrNotKept, column.DataType())
	}
}

// timeValue returns a time; seconds become milliseconds, since Parquet has no seconds.
func timeValue(v int64, unit arrow.TimeUnit) (parquet.Value, error) {
	if unit == arrow.Second {
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return parquet.Value{}, fmt.Errorf("a time of %d s has no number of milliseconds", v)
		}
		v *= 1000
	}
	return parquet.Int64Value(v), nil
}

// decimalValue returns a decimal in big-endian bytes.
func decimalValue(v decimal128.Num) parquet.Value {
	b := make([]byte, 0, arrow.Decimal128SizeBytes)
	for _, half := range []uint64{uint64(v.HighBits()), v.LowBits()} {
		b = binary.BigEndian.AppendUint64(b, half)
	}
	return parquet.FixedLenByteArrayValue(b)
}
