package lake

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// A storedCursor reads the stored values of one chunk; nulls are the zero value. Byte arrays share
// the memory of their page, which is not reused.
type storedCursor struct{ walker[parquet.Value] }

// newStoredCursor returns a cursor before the first row of a chunk, with pages of at most so
// many bytes.
func newStoredCursor(src io.ReaderAt, col *column, ch chunk, most int64) *storedCursor {
	c := new(storedCursor)
	c.reset(src, col, plainWidth(col), ch, new(decompressor), &c.raw)
	c.make, c.page.keeps = c.stored, col.physical == format.FixedLenByteArray
	c.bound(most)
	return c
}

// plainWidth returns the bytes of a value in PLAIN: 0 for booleans, −1 for byte arrays.
func plainWidth(c *column) int {
	switch c.physical {
	case format.Boolean:
		return 0
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return int(c.element.Length)
	default:
		return -1
	}
}

func (c *storedCursor) read(dst []parquet.Value) error {
	for len(dst) > 0 {
		n, err := c.next(dst)
		if err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// stored makes values of their bytes. Byte arrays share them.
func (c *storedCursor) stored(dst []parquet.Value, from *decoded, at int) {
	if c.page.width < 0 {
		for i := range dst {
			a, b := from.offsets[at+i], from.offsets[at+i+1]
			dst[i] = parquet.ByteArrayValue(from.texts[a:b:b])
		}
		return
	}
	width, le := max(c.page.width, 1), binary.LittleEndian
	for i := range dst {
		switch b := from.fixed[(at+i)*width : (at+i+1)*width : (at+i+1)*width]; c.col.physical {
		case format.Boolean:
			dst[i] = parquet.BooleanValue(b[0] != 0)
		case format.Int32:
			dst[i] = parquet.Int32Value(int32(le.Uint32(b)))
		case format.Int64:
			dst[i] = parquet.Int64Value(int64(le.Uint64(b)))
		case format.Int96:
			dst[i] = parquet.Int96Value(deprecated.Int96{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])})
		case format.Float:
			dst[i] = parquet.FloatValue(math.Float32frombits(le.Uint32(b)))
		case format.Double:
			dst[i] = parquet.DoubleValue(math.Float64frombits(le.Uint64(b)))
		default:
			dst[i] = parquet.FixedLenByteArrayValue(b)
		}
	}
}
