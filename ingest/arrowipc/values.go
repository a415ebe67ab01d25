package arrowipc

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// An allowance is an allocator with at most left more bytes. A larger request panics; callers of
// the library return the panic as an error.
type allowance struct {
	left int

	exceeded bool
}

// Allocate returns size zero bytes. It panics if size is above left.
func (a *allowance) Allocate(size int) []byte {
	if size < 0 || size > a.left {
		a.exceeded = true
		panic(fmt.Sprintf("it claims %d MiB, and %d MiB are left to it", size>>20, a.left>>20))
	}
	a.left -= size
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate returns size bytes that begin with the bytes of b.
func (a *allowance) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) && size >= 0 {
		return b[:size]
	}
	grown := a.Allocate(size)
	copy(grown, b)
	return grown
}

// Free does nothing: the garbage collector frees b.
func (*allowance) Free([]byte) {}

// Nulls returns an error unless a column and its dictionary have as many nulls as they state.
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
		return fmt.Errorf("%d values are missing, and it states %d: %w", found, column.NullN(), ErrDamaged)
	}
	return nil
}

// held returns an error if a column of fixed-width values, or its dictionary, has a buffer that is
// too short for its rows: the library would read past the end.
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
			return fmt.Errorf("a buffer of %d bytes for %d values of %d bits: %w", have, n, bits, ErrDamaged)
		}
	}
	return nil
}
