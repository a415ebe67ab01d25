package arrowipc

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pacsgp/pacsgp/ingest"
)

const maxDictionary = 1 << 20

// An allowance is an allocator of at most left further bytes. A larger request panics; the caller of
// the library returns the panic as an error.
type allowance struct {
	left int

	exceeded bool
}

// Allocate returns zeros. It panics if more than left bytes are asked for.
func (a *allowance) Allocate(size int) []byte {
	if size < 0 || size > a.left {
		a.exceeded = true
		panic(fmt.Sprintf("it claims %d MiB, and %d MiB are left to it", size>>20, a.left>>20))
	}
	a.left -= size
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate returns a buffer that begins with the bytes of b.
func (a *allowance) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) && size >= 0 {
		return b[:size]
	}
	grown := a.Allocate(size)
	copy(grown, b)
	return grown
}

// Free leaves b to the garbage collector.
func (*allowance) Free([]byte) {}

// Nulls returns an error unless a column, and its dictionary, has as many nulls as it states.
func Nulls(column arrow.Array) error {
	if a, ok := column.(*array.Dictionary); ok {
		if err := Nulls(a.Dictionary()); err != nil {
			return err
		}
	}
	found := 0
	for i := 0; column.NullN() > 0 && i < column.Len(); i++ {
		if column.IsNull(i) {
			found++
		}
	}
	if found != column.NullN() {
		return fmt.Errorf("%d values are missing, and it states %d: %w", found, column.NullN(), errFile)
	}
	return nil
}

// held returns an error unless the buffers of a column of values of a fixed width, and those of its
// dictionary, have as many bytes as its rows: the library reads what lies behind them.
func held(column arrow.Array) error {
	if a, ok := column.(*array.Dictionary); ok {
		if err := held(a.Dictionary()); err != nil {
			return err
		}
	}
	data, typ := column.Data(), column.DataType()
	if d, ok := typ.(*arrow.DictionaryType); ok {
		typ = d.IndexType
	}
	fixed, ok := typ.(arrow.FixedWidthDataType)
	if !ok {
		return nil
	}
	n := data.Offset() + data.Len()
	for i, bits := range []int{1, fixed.BitWidth()} {
		if i >= len(data.Buffers()) || i == 0 && column.NullN() == 0 {
			continue
		}
		have := 0
		if b := data.Buffers()[i]; b != nil {
			have = b.Len()
		}
		if n < 0 || have < (n*bits+7)/8 {
			return fmt.Errorf("a buffer of %d bytes for %d values of %d bits: %w", have, n, bits, errFile)
		}
	}
	return nil
}

// Append appends the values of a column of a record of [File.Read], or of a part of it, as float64.
// Nulls, and values that float64 cannot represent, become cells of faults.
func Append(to []float64, column arrow.Array) ([]float64, error) {
	if a, ok := column.(*array.Dictionary); ok {
		return appendDictionary(to, a)
	}
	from := len(to)
	to, known := appendValues(slices.Grow(to, column.Len()), column)
	if !known {
		return to, fmt.Errorf("its type %s is not read as numbers", column.DataType())
	}
	if column.NullN() > 0 {
		for i := range column.Len() {
			if column.IsNull(i) {
				to[from+i] = ingest.Null.Cell()
			}
		}
	}
	return to, nil
}

// appendValues appends a column of numbers, or of times in seconds since 1970; false for other types.
func appendValues(to []float64, column arrow.Array) ([]float64, bool) {
	switch a := column.(type) {
	case *array.Float64:
		to = append(to, a.Float64Values()...)
	case *array.Float32:
		for _, v := range a.Float32Values() {
			to = append(to, float64(v))
		}
	case *array.Float16:
		for _, v := range a.Values() {
			to = append(to, ingest.Half(v.Uint16()))
		}
	case *array.Int64:
		to = appendIntegers(to, a.Int64Values())
	case *array.Int32:
		to = appendIntegers(to, a.Int32Values())
	case *array.Int16:
		to = appendIntegers(to, a.Int16Values())
	case *array.Int8:
		to = appendIntegers(to, a.Int8Values())
	case *array.Uint64:
		to = appendIntegers(to, a.Uint64Values())
	case *array.Uint32:
		to = appendIntegers(to, a.Uint32Values())
	case *array.Uint16:
		to = appendIntegers(to, a.Uint16Values())
	case *array.Uint8:
		to = appendIntegers(to, a.Uint8Values())
	case *array.Boolean:
		for i := range a.Len() {
			v := 0.0
			if a.Value(i) {
				v = 1
			}
			to = append(to, v)
		}
	case *array.Decimal128:
		t := a.DataType().(*arrow.Decimal128Type)
		for i := range a.Len() {
			to = append(to, decimal(a.Value(i), t))
		}
	case *array.Timestamp:
		digits := map[arrow.TimeUnit]int{arrow.Second: 0, arrow.Millisecond: 3, arrow.Microsecond: 6, arrow.Nanosecond: 9}[a.DataType().(*arrow.TimestampType).Unit]
		for _, v := range a.TimestampValues() {
			to = append(to, ingest.Seconds(int64(v), digits))
		}
	case *array.Date32:
		for _, v := range a.Date32Values() {
			to = append(to, float64(int64(v)*86400))
		}
	case *array.Date64:
		for _, v := range a.Date64Values() {
			cell := ingest.Seconds(int64(v), 3)
			if v%86_400_000 != 0 { // no whole day
				cell = ingest.Mistyped.Cell()
			}
			to = append(to, cell)
		}
	default:
		return to, false
	}
	return to, true
}

// decimal returns digits·10^−scale, correctly rounded, or the cell of a fault if the type or float64
// has fewer digits.
func decimal(digits decimal128.Num, t *arrow.Decimal128Type) float64 {
	if !digits.FitsInPrecision(t.Precision) {
		return ingest.Mistyped.Cell()
	}
	if v := digits.BigInt(); !v.IsInt64() {
		return ingest.WideDecimal(v, int(t.Scale))
	}
	return ingest.Decimal(int64(digits.LowBits()), int(t.Scale)) //nolint:gosec // in range
}

// appendIntegers appends integers. Those beyond ±[ingest.MaxInteger] become cells of a fault.
func appendIntegers[T int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8](to []float64, values []T) []float64 {
	for _, v := range values {
		f := float64(v)
		if f > ingest.MaxInteger || f < -ingest.MaxInteger {
			f = ingest.TooLong.Cell()
		} else if f == ingest.MaxInteger && uint64(v) != ingest.MaxInteger {
			f = ingest.TooLong.Cell() // 2⁵³+1, rounded
		} else if f == -ingest.MaxInteger && int64(v) != -ingest.MaxInteger {
			f = ingest.TooLong.Cell()
		}
		to = append(to, f)
	}
	return to
}

func appendDictionary(to []float64, a *array.Dictionary) ([]float64, error) {
	if n := a.Dictionary().Len(); n < 0 || n > maxDictionary {
		return to, fmt.Errorf("a dictionary of %d values, want at most %d", n, maxDictionary)
	}
	values, err := Append(nil, a.Dictionary())
	if err != nil {
		return to, err
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			to = append(to, ingest.Null.Cell())
			continue
		}
		k := a.GetValueIndex(i)
		if k < 0 || k >= len(values) {
			return to, fmt.Errorf("a dictionary of %d values has none of number %d", len(values), k)
		}
		to = append(to, values[k])
	}
	return to, nil
}
