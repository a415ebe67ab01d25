package arrowipc

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

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
