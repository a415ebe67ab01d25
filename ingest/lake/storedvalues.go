package lake

import (
	"encoding/binary"
	"fmt"
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
	c.values.to, c.values.keeps = c, col.physical == format.ByteArray || col.physical == format.FixedLenByteArray
	c.most, c.pages.most = most, int(min(most, maxPage))
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
		if err := c.page(); err != nil {
			return err
		}
		n := min(c.rows, len(dst))
		read := c.values.read
		if c.leveled && !c.levels.skip(n, c.col.deep) {
			read = c.readNullable
		}
		if err := read(dst[:n]); err != nil {
			return err
		}
		if err := c.passed(n); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// plain makes values of their bytes. Values of a fixed length share the memory of src.
func (c *storedCursor) plain(dst []parquet.Value, src []byte) {
	width, le := c.values.width, binary.LittleEndian
	for i := range dst {
		switch b := src[i*width : (i+1)*width : (i+1)*width]; c.col.physical {
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

// integers makes values of the type that is stored.
func (c *storedCursor) integers(dst []parquet.Value, src []int64) {
	switch c.col.physical {
	case format.Boolean:
		for i, x := range src {
			dst[i] = parquet.BooleanValue(x == 1)
		}
	case format.Int32:
		for i, x := range src {
			dst[i] = parquet.Int32Value(int32(x))
		}
	default:
		for i, x := range src {
			dst[i] = parquet.Int64Value(x)
		}
	}
}

// texts starts a page of byte arrays.
func (c *storedCursor) texts(encoding format.Encoding, data []byte) (textReader[parquet.Value], error) {
	t, err := &texts{c: c, encoding: encoding, data: data}, error(nil)
	switch {
	case encoding == format.Plain:
	case encoding == format.DeltaLengthByteArray && c.values.width < 0:
		t.lengths, t.data, err = lengths(data, c.rows)
	case encoding == format.DeltaByteArray && c.values.keeps:
		if t.prefixes, t.data, err = lengths(data, c.rows); err == nil {
			t.lengths, t.data, err = lengths(t.data, c.rows)
		}
	default:
		return nil, nil
	}
	return t, err
}

// lengths reads the lengths before texts, at most so many, and returns them and the rest of data.
func lengths(data []byte, most int) ([]int64, []byte, error) {
	if len(data) == 0 {
		return nil, nil, nil // only nulls
	}
	var d delta
	if err := d.reset(data, nil); err != nil {
		return nil, nil, err
	}
	if d.total > uint64(most) {
		return nil, nil, fmt.Errorf("%d lengths for %d rows: %w", d.total, most, errMalformed)
	}
	all := make([]int64, d.total)
	err := d.read(all)
	return all, d.src, err
}

// texts reads byte arrays. In PLAIN each follows its length. In DELTA_LENGTH_BYTE_ARRAY all lengths
// come first. In DELTA_BYTE_ARRAY the lengths of prefixes come first, then the suffixes in
// DELTA_LENGTH_BYTE_ARRAY: each text is a prefix of the text before and its suffix.
type texts struct {
	c        *storedCursor
	encoding format.Encoding
	prefixes []int64 // lengths that are left
	lengths  []int64 // lengths that are left
	data     []byte  // bytes that are left
	last     []byte  // the text before
	made     int64   // bytes of texts in memory of their own
}

func (t *texts) read(dst []parquet.Value) error {
	for i := range dst {
		text, err := t.next()
		if err == nil && t.encoding == format.DeltaByteArray {
			text, err = t.prefixed(text)
		}
		if err != nil {
			return err
		}
		if dst[i] = parquet.ByteArrayValue(text); t.c.values.width >= 0 {
			if len(text) != t.c.values.width {
				return fmt.Errorf("a value of %d bytes in a column of %d: %w", len(text), t.c.values.width, errMalformed)
			}
			dst[i] = parquet.FixedLenByteArrayValue(text)
		}
	}
	return nil
}

// next returns the next text, or its suffix.
func (t *texts) next() ([]byte, error) {
	n := int64(-1)
	switch {
	case t.encoding != format.Plain && len(t.lengths) > 0:
		n, t.lengths = t.lengths[0], t.lengths[1:]
	case t.encoding == format.Plain && len(t.data) >= 4:
		n, t.data = int64(binary.LittleEndian.Uint32(t.data)), t.data[4:]
	}
	if n < 0 || n > int64(len(t.data)) {
		return nil, errFewValues
	}
	text := t.data[:n:n]
	t.data = t.data[n:]
	return text, nil
}

// prefixed returns the text with this suffix.
func (t *texts) prefixed(text []byte) ([]byte, error) {
	if len(t.prefixes) == 0 || t.prefixes[0] < 0 || t.prefixes[0] > int64(len(t.last)) {
		return nil, errFewValues
	}
	if n := int(t.prefixes[0]); n > 0 {
		if t.made += int64(n + len(text)); t.made > t.c.most {
			return nil, t.c.tooLarge(t.made)
		}
		text = append(append(make([]byte, 0, n+len(text)), t.last[:n]...), text...)
	}
	t.prefixes, t.last = t.prefixes[1:], text
	return text, nil
}

func (t *texts) finished() error {
	if t.encoding == format.Plain {
		return t.c.col.noRest(len(t.data), t.data)
	}
	return t.c.col.noRest(len(t.prefixes)+len(t.lengths)+len(t.data), nil)
}
