package lake

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// plainValues are values in PLAIN.
type plainValues struct {
	c    *storedCursor
	data []byte
	bits int // of booleans, that were read
}

func (v *plainValues) read(dst []parquet.Value) error {
	switch width := v.c.width; {
	case width > 0:
		if len(dst)*width > len(v.data) {
			return errFewValues
		}
		for i := range dst {
			dst[i] = v.c.value(v.data[i*width : (i+1)*width : (i+1)*width])
		}
		v.data = v.data[len(dst)*width:]
	case width == 0:
		if v.bits+len(dst) > 8*len(v.data) {
			return errFewValues
		}
		for i := range dst {
			at := v.bits + i
			dst[i] = parquet.BooleanValue(v.data[at>>3]>>(at&7)&1 == 1)
		}
		v.bits += len(dst)
	default:
		for i := range dst {
			if len(v.data) < 4 || uint64(binary.LittleEndian.Uint32(v.data)) > uint64(len(v.data)-4) {
				return errFewValues
			}
			end := 4 + int(binary.LittleEndian.Uint32(v.data))
			dst[i] = parquet.ByteArrayValue(v.data[4:end:end])
			v.data = v.data[end:]
		}
	}
	return nil
}

func (v *plainValues) finished() error {
	return v.c.col.noRest(v.data[(v.bits+7)/8:])
}

// noRest makes sure that nothing but zeros that some writers put there come behind the
// values of a page in PLAIN.
func (c *column) noRest(rest []byte) error {
	if len(rest) == 0 || c.filled && len(rest) <= plainFill {
		return nil
	}
	return moreBytes(len(rest))
}

func moreBytes(n int) error {
	return fmt.Errorf("%d bytes of the page come after its last value: %w", n, errMalformed)
}

// lookedUp are values as indexes into a dictionary.
type lookedUp struct {
	table   []parquet.Value
	indexes hybrid
	some    [256]int32
}

func newLookedUp(table []parquet.Value, data []byte) (*lookedUp, error) {
	v := &lookedUp{table: table}
	if len(data) == 0 {
		v.table = nil // only nulls
		return v, nil
	}
	if data[0] > 32 {
		return nil, fmt.Errorf("indexes of %d bits: %w", data[0], errMalformed)
	}
	v.indexes.reset(data[1:], uint(data[0]))
	return v, nil
}

func (v *lookedUp) read(dst []parquet.Value) error {
	for len(dst) > 0 {
		some := v.some[:min(len(dst), len(v.some))]
		if v.indexes.width == 0 {
			clear(some)
		} else if err := v.indexes.read(some); err != nil {
			return err
		}
		for i, k := range some {
			if uint(uint32(k)) >= uint(len(v.table)) {
				return fmt.Errorf("index %d into a dictionary of %d: %w", uint32(k), len(v.table), errMalformed)
			}
			dst[i] = v.table[k]
		}
		dst = dst[len(some):]
	}
	return nil
}

func (v *lookedUp) finished() error {
	if v.indexes.width == 0 {
		return nil
	}
	return v.indexes.finished()
}

// differences are integers, stored as differences.
type differences struct {
	width int
	delta delta
	some  [256]int64
}

func newDifferences(width int, data []byte) (*differences, error) {
	v := &differences{width: width}
	if len(data) == 0 {
		return v, nil // only nulls
	}
	return v, v.delta.reset(data, nil)
}

func (v *differences) read(dst []parquet.Value) error {
	for len(dst) > 0 {
		some := v.some[:min(len(dst), len(v.some))]
		if err := v.delta.read(some); err != nil {
			return err
		}
		for i, x := range some {
			if v.width == 4 {
				dst[i] = parquet.Int32Value(int32(x))
			} else {
				dst[i] = parquet.Int64Value(x)
			}
		}
		dst = dst[len(some):]
	}
	return nil
}

func (v *differences) finished() error {
	if rest := len(v.delta.src) + int(min(v.delta.total, 1)); rest != 0 {
		return moreBytes(rest)
	}
	return nil
}

// lengths reads the lengths that stand before texts, at most so many, and returns what
// comes behind.
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

// texts are byte arrays in DELTA_LENGTH_BYTE_ARRAY: their lengths, then their bytes.
type texts struct {
	lengths []int64
	data    []byte
}

func newTexts(data []byte, rows int) (*texts, error) {
	v := &texts{}
	var err error
	v.lengths, v.data, err = lengths(data, rows)
	return v, err
}

// next is the next text.
func (v *texts) next() ([]byte, error) {
	if len(v.lengths) == 0 || v.lengths[0] < 0 || v.lengths[0] > int64(len(v.data)) {
		return nil, errFewValues
	}
	n := int(v.lengths[0])
	text := v.data[:n:n]
	v.lengths, v.data = v.lengths[1:], v.data[n:]
	return text, nil
}

func (v *texts) read(dst []parquet.Value) error {
	for i := range dst {
		text, err := v.next()
		if err != nil {
			return err
		}
		dst[i] = parquet.ByteArrayValue(text)
	}
	return nil
}

func (v *texts) finished() error {
	if rest := len(v.lengths) + len(v.data); rest != 0 {
		return moreBytes(rest)
	}
	return nil
}

// prefixed are byte arrays in DELTA_BYTE_ARRAY: how many bytes each has of the one
// before, then the rest of each.
type prefixed struct {
	c        *storedCursor
	prefixes []int64
	rest     *texts
	last     []byte
	made     int64 // bytes
}

func newPrefixed(c *storedCursor, data []byte) (*prefixed, error) {
	v := &prefixed{c: c}
	var err error
	if v.prefixes, data, err = lengths(data, c.rows); err != nil {
		return nil, err
	}
	v.rest, err = newTexts(data, c.rows)
	return v, err
}

func (v *prefixed) read(dst []parquet.Value) error {
	for i := range dst {
		rest, err := v.rest.next()
		if err != nil {
			return err
		}
		if len(v.prefixes) == 0 || v.prefixes[0] < 0 || v.prefixes[0] > int64(len(v.last)) {
			return errFewValues
		}
		text := rest
		if n := int(v.prefixes[0]); n > 0 {
			if v.made += int64(n + len(rest)); v.made > v.c.most {
				return v.c.tooLarge(v.made)
			}
			text = append(append(make([]byte, 0, n+len(rest)), v.last[:n]...), rest...)
		}
		v.prefixes, v.last = v.prefixes[1:], text
		if dst[i] = parquet.ByteArrayValue(text); v.c.col.element.Physical == format.FixedLenByteArray {
			if len(text) != v.c.width {
				return fmt.Errorf("a value of %d bytes in a column of %d: %w", len(text), v.c.width, errMalformed)
			}
			dst[i] = parquet.FixedLenByteArrayValue(text)
		}
	}
	return nil
}

func (v *prefixed) finished() error {
	if len(v.prefixes) != 0 {
		return moreBytes(len(v.prefixes))
	}
	return v.rest.finished()
}

// apart are values whose first bytes stand together, then their second bytes, and so on.
type apart struct {
	c    *storedCursor
	data []byte
	at   int
}

func (v *apart) read(dst []parquet.Value) error {
	width := v.c.width
	stride := len(v.data) / width
	if v.at+len(dst) > stride {
		return errFewValues
	}
	own := make([]byte, width*len(dst))
	for i := range dst {
		b := own[i*width : (i+1)*width : (i+1)*width]
		for k := range b {
			b[k] = v.data[k*stride+v.at+i]
		}
		dst[i] = v.c.value(b)
	}
	v.at += len(dst)
	return nil
}

func (v *apart) finished() error {
	if rest := len(v.data) - v.at*v.c.width; rest != 0 {
		return moreBytes(rest)
	}
	return nil
}
