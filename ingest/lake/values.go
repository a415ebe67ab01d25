package lake

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// A target makes values from stored ones.
type target[V any] interface {
	// plain makes len(dst) values of a fixed width. src has their bytes in PLAIN.
	plain(dst []V, src []byte)
	// integers makes values of stored BOOLEAN, INT32 (the low half of src) or INT64.
	integers(dst []V, src []int64)
	// texts starts a page in an encoding of byte arrays; nil for other encodings.
	texts(encoding format.Encoding, data []byte) (textReader[V], error)
}

// A textReader decodes the byte arrays of one data page.
type textReader[V any] interface {
	read(dst []V) error
	// finished returns an error if the page has more.
	finished() error
}

// A valueReader decodes the values, without nulls, of one data page.
type valueReader[V any] struct {
	col   *column
	width int // bytes of a value in PLAIN: 0 for booleans, −1 for byte arrays
	to    target[V]
	keeps bool // values share the memory of data, which must not be overwritten

	encoding format.Encoding
	data     []byte
	more     *window     // the bytes after data, or nil
	pages    *pageReader // reads values directly; nil if they are in data
	pos      int         // values read so far, in PLAIN and BYTE_STREAM_SPLIT
	size     int         // bytes of all streams of BYTE_STREAM_SPLIT
	checks   []streamSum // of those that are read directly, if there is a checksum
	table    []V
	indexes  hybrid
	delta    delta
	longs    [hybridWindow]int64
	bytes    []byte // values of BYTE_STREAM_SPLIT, put together
	stream   []byte // a piece of one
	text     textReader[V]
}

var errBooleanTable = fmt.Errorf("booleans with a dictionary: %w", errMalformed)

// reset starts a page whose values are in data and then in more.
func (v *valueReader[V]) reset(encoding format.Encoding, data []byte, table []V, more *window) (err error) {
	v.encoding, v.data, v.table, v.pos, v.pages, v.more, v.text = encoding, data, table, 0, nil, more, nil
	switch encoding {
	case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // older writers use the deprecated name
		v.encoding = format.RLEDictionary
		if v.width == 0 {
			return errBooleanTable
		}
		if len(data) == 0 {
			return nil // only nulls
		}
		if data[0] > 32 {
			return fmt.Errorf("indexes of %d bits: %w", data[0], errMalformed)
		}
		v.indexes.reset(data[1:], uint(data[0]))
		v.indexes.more = more
		return nil
	case format.DeltaBinaryPacked:
		if v.col.physical != format.Int32 && v.col.physical != format.Int64 {
			break
		}
		if len(data) == 0 {
			v.delta = delta{buf: v.delta.buf}
			return nil // only nulls
		}
		return v.delta.reset(data, more)
	case format.ByteStreamSplit:
		if v.width < 1 {
			break
		}
		v.size = len(data)
		return nil
	case format.RLE:
		if v.width != 0 {
			break
		}
		if len(data) == 0 {
			return nil // only nulls
		}
		if data, err = more.refill(data, 4); err != nil {
			return err
		}
		if n := len(data) - 4 + more.rest(); n < 0 || uint64(binary.LittleEndian.Uint32(data)) != uint64(n) {
			return fmt.Errorf("booleans of another length than the page has: %w", errMalformed)
		}
		v.indexes.reset(data[4:], 1)
		v.indexes.more = more
		return nil
	default:
		if encoding == format.Plain && v.width >= 0 {
			return nil
		}
		if v.text, err = v.to.texts(encoding, data); v.text != nil || err != nil {
			return err
		}
	}
	return fmt.Errorf("encoding %v of %s values is not read; rewrite the file with encoding PLAIN or a dictionary", encoding, v.col.Type)
}

func (v *valueReader[V]) read(dst []V) error {
	switch {
	case len(dst) == 0:
		return nil
	case v.text != nil:
		return v.text.read(dst)
	}
	switch v.encoding {
	case format.RLEDictionary:
		return v.lookUp(dst)
	case format.RLE:
		return v.runs(dst)
	case format.DeltaBinaryPacked:
		return v.sums(dst)
	case format.ByteStreamSplit:
		return v.streams(dst)
	default:
		if err := v.refill(len(dst)); err != nil {
			return err
		}
		if v.width == 0 {
			return v.bits(dst)
		}
		if v.pages != nil { // doubles, by isDirect
			return v.pages.read(arrow.Float64Traits.CastToBytes(any(dst).([]float64)))
		}
		from, to := v.pos*v.width, (v.pos+len(dst))*v.width
		if to > len(v.data) {
			return errFewValues
		}
		v.to.plain(dst, v.data[from:to])
		v.pos += len(dst)
		return nil
	}
}

// plainFill is the number of zeros that fastparquet writes behind the last value in encoding PLAIN.
// In files of other writers they would mean a misread page.
const plainFill = 8

// finished returns an error if bytes are left behind the page's last value, as after reading values
// with a wrong width.
func (v *valueReader[V]) finished() error {
	if v.text != nil {
		return v.text.finished()
	}
	var fill [plainFill]byte
	switch v.encoding {
	case format.RLEDictionary, format.RLE:
		if len(v.data) == 0 || v.indexes.width == 0 {
			return nil
		}
		return v.indexes.finished()
	case format.DeltaBinaryPacked:
		return v.col.noRest(len(v.delta.src)+v.more.rest()+int(min(v.delta.total, 1)), nil)
	case format.ByteStreamSplit:
		if v.pages != nil && v.size == v.pos*v.width {
			return v.compareStreams()
		}
		return v.col.noRest(v.size-v.pos*v.width, nil)
	default:
		if v.pages != nil {
			rest := v.pages.size - v.pages.consumed
			first := fill[:min(rest, plainFill)]
			if err := v.pages.read(first); err != nil {
				return err
			}
			return v.col.noRest(rest, first)
		}
		if err := v.refill(plainFill); err != nil {
			return err
		}
		used := v.pos * v.width
		if v.width == 0 {
			used = (v.pos + 7) / 8
		}
		return v.col.noRest(len(v.data)-used+v.more.rest(), v.data[min(used, len(v.data)):])
	}
}

// noRest returns an error if n > 0 bytes are left behind a page's last value, unless they are the
// zeros of fastparquet. first has the first of them.
func (c *column) noRest(n int, first []byte) error {
	if n == 0 || c.filled && n <= plainFill && n == len(first) && bytes.Count(first, []byte{0}) == n {
		return nil
	}
	return fmt.Errorf("%d bytes of the page come after its last value: %w", n, errMalformed)
}

// refill puts the next n values in PLAIN into data, if there are so many.
func (v *valueReader[V]) refill(n int) (err error) {
	if v.more == nil {
		return nil
	}
	if v.width == 0 {
		v.data, err = v.more.refill(v.data[v.pos/8:], (v.pos%8+n+7)/8)
		v.pos %= 8
		return err
	}
	v.data, err = v.more.refill(v.data[v.pos*v.width:], n*v.width)
	v.pos = 0
	return err
}

var errFewValues = fmt.Errorf("the page has fewer values than its header says: %w", errMalformed)

// bits decodes booleans, the lowest bit of a byte first.
func (v *valueReader[V]) bits(dst []V) error {
	if v.pos+len(dst) > 8*len(v.data) {
		return errFewValues
	}
	for len(dst) > 0 {
		longs := v.longs[:min(len(dst), len(v.longs))]
		for i := range longs {
			at := v.pos + i
			longs[i] = int64(v.data[at>>3] >> (at & 7) & 1)
		}
		v.to.integers(dst[:len(longs)], longs)
		v.pos += len(longs)
		dst = dst[len(longs):]
	}
	return nil
}

// runs decodes booleans in runs and packed groups.
func (v *valueReader[V]) runs(dst []V) error {
	if len(v.data) == 0 {
		return errFewValues
	}
	for len(dst) > 0 {
		bits, run, err := v.indexes.next(min(len(dst), len(v.longs)))
		if err != nil {
			return err
		}
		if run > 0 && v.indexes.value > 1 {
			return fmt.Errorf("a boolean of the value %d: %w", v.indexes.value, errMalformed)
		}
		longs := v.longs[:run+len(bits)]
		for i := range longs[:run] {
			longs[i] = int64(v.indexes.value)
		}
		for i, bit := range bits {
			longs[i] = int64(bit)
		}
		v.to.integers(dst[:len(longs)], longs)
		dst = dst[len(longs):]
	}
	return nil
}

func (v *valueReader[V]) lookUp(dst []V) error {
	table := v.table
	if len(v.data) == 0 || len(table) == 0 {
		return errFewValues
	}
	if v.indexes.width == 0 {
		repeat(dst, table[0])
		return nil
	}
	for len(dst) > 0 {
		indexes, run, err := v.indexes.next(len(dst))
		if err != nil {
			return err
		}
		if run > 0 {
			one := [1]int32{v.indexes.value}
			if gather(dst, one[:], table) == 0 {
				return badIndex(v.indexes.value, len(table))
			}
			repeat(dst[:run], dst[0])
		} else if i := gather(dst, indexes, table); i < len(indexes) {
			return badIndex(indexes[i], len(table))
		}
		dst = dst[run+len(indexes):]
	}
	return nil
}

func badIndex(i int32, entries int) error {
	return fmt.Errorf("index %d into a dictionary of %d: %w", uint32(i), entries, errMalformed)
}

func repeat[V any](dst []V, v V) {
	for i := range dst {
		dst[i] = v
	}
}

// gather sets dst[i] to table[indexes[i]] until an index is beyond the table, and returns the number
// of indexes before that. dst is long enough.
func gather[V any](dst []V, indexes []int32, table []V) int {
	dst = dst[:len(indexes)]
	i := 0
	for ; i+4 <= len(indexes); i += 4 { // four at a time, for one test of the loop
		x, to := indexes[i:i+4:i+4], dst[i:i+4:i+4]
		a, b, c, d := uint(uint32(x[0])), uint(uint32(x[1])), uint(uint32(x[2])), uint(uint32(x[3]))
		if a >= uint(len(table)) || b >= uint(len(table)) || c >= uint(len(table)) || d >= uint(len(table)) {
			break // found below
		}
		to[0] = table[a]
		to[1] = table[b]
		to[2] = table[c]
		to[3] = table[d]
	}
	for ; i < len(indexes); i++ {
		k := uint(uint32(indexes[i]))
		if k >= uint(len(table)) {
			break
		}
		dst[i] = table[k]
	}
	return i
}

// sums decodes integers that are stored as differences.
func (v *valueReader[V]) sums(dst []V) error {
	for len(dst) > 0 {
		longs := v.longs[:min(len(dst), len(v.longs))]
		if err := v.delta.read(longs); err != nil {
			return err
		}
		v.to.integers(dst[:len(longs)], longs)
		dst = dst[len(longs):]
	}
	return nil
}

// streams decodes values whose first bytes are stored together, then their second bytes, and so
// on.
func (v *valueReader[V]) streams(dst []V) error {
	width, n := v.width, len(dst)
	if v.pos+n > v.size/width {
		return errFewValues
	}
	if v.keeps {
		v.bytes = nil
	}
	b := grow(&v.bytes, width*n)
	for k := range width {
		piece, err := v.piece(k, n)
		if err != nil {
			return err
		}
		for i, x := range piece {
			b[i*width+k] = x
		}
	}
	v.to.plain(dst, b)
	v.pos += n
	return nil
}

// piece returns the next n bytes of stream k.
func (v *valueReader[V]) piece(k, n int) ([]byte, error) {
	at := k*(v.size/v.width) + v.pos
	if v.pages == nil {
		return v.data[at:][:n], nil
	}
	b := grow(&v.stream, n)
	if err := v.pages.readAt(b, v.pages.consumed+at); err != nil {
		return nil, err
	}
	if len(v.checks) > 0 {
		v.checks[k].got = crc32.Update(v.checks[k].got, crc32.IEEETable, b)
	}
	return b, nil
}
