package lake

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// ErrNotKept says that a column of this type cannot be read by [Stored].
var ErrNotKept = errors.New("it cannot be kept as it is")

// node returns the type of a leaf of a Parquet file, for the schema of another one.
func (c *column) node() (parquet.Node, error) {
	e := &c.element
	switch {
	case c.depth > 1:
		return nil, fmt.Errorf("%w: it is a column of a nested group", ErrNotKept)
	case e.Name == "" || e.Repetition == int32(format.Repeated) || contradiction(e) != "", c.Type == aDuration:
		return nil, fmt.Errorf("%w: it is %s", ErrNotKept, c.Type)
	}
	plain, err := plainType(e)
	if err != nil {
		return nil, err
	}
	a := annotationOf(e)
	node := a.node
	switch {
	case a.Kind == parquetmeta.LogicalDecimal:
		node = decimalNode(a, plain)
	case a.Kind == parquetmeta.LogicalNone && a.why == "", a.Kind == parquetmeta.LogicalNull:
		node = parquet.Leaf(plain)
	}
	if node == nil || node.Type().Kind() != plain.Kind() || e.Physical == format.FixedLenByteArray && node.Type().Length() != plain.Length() {
		return nil, fmt.Errorf("%w: it is %s stored as %v", ErrNotKept, a.name, e.Physical)
	}
	return node, nil
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

// decimalNode returns the type of a decimal, nil if its digits do not fit.
func decimalNode(a annotation, plain parquet.Type) parquet.Node {
	most, least := 1<<10, 1
	switch plain.Kind() {
	case parquet.Int32:
		most = 9
	case parquet.Int64:
		most, least = 18, 10 // the library prints a warning about fewer digits
	case parquet.ByteArray, parquet.FixedLenByteArray:
	default:
		return nil
	}
	if a.Precision < 1 || int(a.Precision) > most || a.digits < 0 || a.digits > int(a.Precision) {
		return nil
	}
	return parquet.Decimal(a.digits, max(int(a.Precision), least), plain)
}

// storedReader returns a function that reads the next stored values of a chunk with pages of at most so
// many bytes. After the last one it checks that the chunk has no more. Nulls are the zero value. Byte
// arrays share the memory of their page, which is not reused.
func storedReader(file objects.File, col *column, ch chunk, limit int64) func(dst []parquet.Value) error {
	var c walker[parquet.Value]
	c.reset(ahead(file, []chunk{ch})[0], col, plainWidth(col), ch, new(lane))
	c.make, c.page.keeps = col.stored, col.physical == format.FixedLenByteArray
	c.bound(limit)
	return func(dst []parquet.Value) error {
		for len(dst) > 0 {
			n, err := c.next(dst)
			if err != nil {
				return err
			}
			dst = dst[n:]
		}
		if c.rows == 0 && c.left == 0 {
			return c.finish()
		}
		return nil
	}
}

// plainWidth returns the bytes of a value in PLAIN: 0 for booleans, −1 for byte arrays.
func plainWidth(c *column) int {
	switch c.physical {
	case format.ByteArray:
		return -1
	case format.FixedLenByteArray:
		return int(c.element.Length)
	default:
		return plainTypes[c.physical].Length() / 8 // of bits
	}
}

// stored makes values of their bytes. Byte arrays share them.
func (c *column) stored(dst []parquet.Value, from *decoded, at int) {
	if c.physical == format.ByteArray {
		for i := range dst {
			a, b := from.offsets[at+i], from.offsets[at+i+1]
			dst[i] = parquet.ByteArrayValue(from.texts[a:b:b])
		}
		return
	}
	width, kind := max(plainWidth(c), 1), parquet.Kind(c.physical)
	for i := range dst {
		dst[i] = kind.Value(from.fixed[(at+i)*width : (at+i+1)*width : (at+i+1)*width])
	}
}
