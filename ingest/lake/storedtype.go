package lake

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// ErrNotKept says that a column of this type cannot be read by [Stored].
var ErrNotKept = errors.New("it cannot be kept as it is")

// node returns the type of a leaf of a Parquet file, for the schema of another one.
func (c *column) node() (parquet.Node, error) {
	refuse := func(why string) (parquet.Node, error) {
		return nil, fmt.Errorf("%w: it is %s", ErrNotKept, why)
	}
	e := &c.element
	if c.depth > 1 {
		return refuse("a column of a nested group")
	}
	if e.Name == "" || e.Repetition == int32(format.Repeated) || contradiction(e) != "" {
		return refuse(c.Type)
	}
	plain, err := plainType(e)
	if err != nil {
		return nil, err
	}
	a := annotationOf(e)
	switch {
	case a.Kind == parquetmeta.LogicalNone && a.why == "":
		return parquet.Leaf(plain), nil
	case a.why != "":
		return textNode(e, a, plain)
	case a.Kind == parquetmeta.LogicalDecimal:
		return decimalNode(e, a, plain)
	case c.width == 0 || a.Kind == parquetmeta.LogicalFloat16: // a wrong physical type, or one that the library lacks
		return refuse(c.Type)
	case a.Kind == parquetmeta.LogicalDate:
		return parquet.Date(), nil
	case a.Kind == parquetmeta.LogicalTimestamp:
		return parquet.TimestampAdjusted(unitOf(a.digits), a.zone != job.MeansLocalTime), nil
	case a.Signed:
		return parquet.Int(int(a.Bits)), nil
	default:
		return parquet.Uint(int(a.Bits)), nil
	}
}

// unitOf returns the unit with so many decimal places of a second.
func unitOf(digits int) parquet.TimeUnit {
	switch digits {
	case 3:
		return parquet.Millisecond
	case 6:
		return parquet.Microsecond
	default:
		return parquet.Nanosecond
	}
}

// plainTypes are the stored types of one length, by their numbers.
var plainTypes = [...]parquet.Type{
	format.Boolean: parquet.BooleanType, format.Int32: parquet.Int32Type, format.Int64: parquet.Int64Type, format.Int96: parquet.Int96Type,
	format.Float: parquet.FloatType, format.Double: parquet.DoubleType, format.ByteArray: parquet.ByteArrayType,
}

func plainType(e *parquetmeta.Element) (parquet.Type, error) {
	if e.Physical != format.FixedLenByteArray {
		return plainTypes[e.Physical], nil
	}
	if e.Length < 1 || e.Length > maxFixed {
		return nil, fmt.Errorf("%w: its values have %d bytes, at most %d are read", ErrNotKept, e.Length, maxFixed)
	}
	return parquet.FixedLenByteArrayType(int(e.Length)), nil
}

// maxFixed bounds the bytes of values of a fixed length.
const maxFixed = 1 << 12

func decimalNode(e *parquetmeta.Element, a annotation, plain parquet.Type) (parquet.Node, error) {
	most, least := 1<<10, 1
	switch e.Physical {
	case format.Int32:
		most = 9
	case format.Int64:
		most, least = 18, 10 // the library prints a warning about fewer digits
	case format.ByteArray, format.FixedLenByteArray:
	default:
		most = 0
	}
	if a.Precision < 1 || int(a.Precision) > most || a.digits < 0 || a.digits > int(a.Precision) {
		return nil, fmt.Errorf("%w: it is %s stored as %v", ErrNotKept, a.name, e.Physical)
	}
	return parquet.Decimal(a.digits, max(int(a.Precision), least), plain), nil
}

// textNode returns the type of a leaf that is no number.
func textNode(e *parquetmeta.Element, a annotation, plain parquet.Type) (parquet.Node, error) {
	kind, bytes := a.Kind, e.Physical == format.ByteArray
	switch {
	case kind == parquetmeta.LogicalString && bytes:
		return parquet.String(), nil
	case kind == parquetmeta.LogicalEnum && bytes:
		return parquet.Enum(), nil
	case kind == parquetmeta.LogicalJSON && bytes:
		return parquet.JSON(), nil
	case kind == parquetmeta.LogicalBSON && bytes:
		return parquet.BSON(), nil
	case kind == parquetmeta.LogicalUUID && e.Physical == format.FixedLenByteArray && e.Length == 16:
		return parquet.UUID(), nil
	case kind == parquetmeta.LogicalTime:
		return timeNode(e, a)
	case kind == parquetmeta.LogicalNull:
		return parquet.Leaf(plain), nil
	}
	return nil, fmt.Errorf("%w: it is %s, stored as %v", ErrNotKept, a.name, e.Physical)
}

func timeNode(e *parquetmeta.Element, a annotation) (parquet.Node, error) {
	digits := unitDigits[a.Unit]
	if digits == 0 || (digits == 3) != (e.Physical == format.Int32) || (digits > 3) != (e.Physical == format.Int64) {
		return nil, fmt.Errorf("%w: it is a time of day stored as %v", ErrNotKept, e.Physical)
	}
	return parquet.TimeAdjusted(unitOf(digits), a.UTC), nil
}
