package lake

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// A valueReader decodes the values of one data page that are not null.
type valueReader struct {
	col      *column
	encoding format.Encoding
	data     []byte
	more     *window     // what comes after data; nil if nothing does
	pages    *pageReader // where values are read from directly; nil if data has them
	pos      int         // values read so far, in PLAIN and BYTE_STREAM_SPLIT
	size     int         // bytes of all streams of BYTE_STREAM_SPLIT
	checks   []streamSum // of those that are read directly, if there is a checksum
	table    []float64
	indexes  hybrid
	delta    delta
	longs    [hybridWindow]int64
	bytes    []byte // values of BYTE_STREAM_SPLIT, put together, and a piece of a stream
}

// reset starts a page with the given values, of which there may be more.
func (v *valueReader) reset(col *column, encoding format.Encoding, data []byte, table []float64, more *window) error {
	v.col, v.encoding, v.data, v.table, v.pos, v.pages, v.more = col, encoding, data, table, 0, nil, more
	switch encoding {
	case format.Plain:
		return nil
	case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // older writers use the deprecated name
		v.encoding = format.RLEDictionary
		if col.width == 0 {
			return fmt.Errorf("booleans with a dictionary: %w", errMalformed)
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
		if !col.integers() {
			break
		}
		if len(data) == 0 {
			v.delta = delta{buf: v.delta.buf}
			return nil // only nulls
		}
		return v.delta.reset(data, more)
	case format.ByteStreamSplit:
		if col.width == 0 {
			break
		}
		v.size = len(data)
		return nil
	case format.RLE:
		if col.kind == kindBoolean {
			return errors.New(refusedRLE)
		}
	default:
	}
	return fmt.Errorf("encoding %v of %s values is not read; rewrite the file with encoding PLAIN or a dictionary", encoding, col.Type)
}

// read decodes the next len(dst) values.
func (v *valueReader) read(dst []float64) error {
	if len(dst) == 0 {
		return nil
	}
	switch v.encoding {
	case format.RLEDictionary:
		return v.lookUp(dst)
	case format.DeltaBinaryPacked:
		return v.sums(dst)
	case format.ByteStreamSplit:
		return v.streams(dst)
	default:
		if err := v.refill(len(dst)); err != nil {
			return err
		}
		if v.col.kind == kindBoolean {
			return v.bits(dst)
		}
		if v.pages != nil {
			return v.pages.take(arrow.Float64Traits.CastToBytes(dst))
		}
		from, to := v.pos*v.col.width, (v.pos+len(dst))*v.col.width
		if to > len(v.data) {
			return errFewValues
		}
		v.col.plain(dst, v.data[from:to])
		v.pos += len(dst)
		return nil
	}
}

// plainFill is how many zeros come after the last value in encoding PLAIN where
// fastparquet has written the page. Of other writers they would be the sign of a
// page that is misread.
const plainFill = 8

// finished makes sure that the page has no bytes after its last value. Values of
// another width, or a page that is not that of its header, would leave some.
func (v *valueReader) finished() error {
	var fill [plainFill]byte
	rest, filled := 0, fill[:0]
	switch v.encoding {
	case format.RLEDictionary:
		if len(v.data) == 0 || v.indexes.width == 0 {
			return nil
		}
		return v.indexes.finished()
	case format.DeltaBinaryPacked:
		rest = len(v.delta.src) + v.left() + int(min(v.delta.total, 1))
	case format.ByteStreamSplit:
		if rest = v.size - v.pos*v.col.width; rest == 0 && v.pages != nil {
			return v.compareStreams()
		}
	default:
		if v.pages != nil {
			rest = v.pages.size - v.pages.taken
			filled = fill[:min(rest, plainFill)]
			if err := v.pages.take(filled); err != nil {
				return err
			}
			break
		}
		if err := v.refill(plainFill); err != nil {
			return err
		}
		used := v.pos * v.col.width
		if v.col.kind == kindBoolean {
			used = (v.pos + 7) / 8
		}
		rest = len(v.data) - used + v.left()
		filled = fill[:copy(fill[:], v.data[min(used, len(v.data)):])]
	}
	if rest != 0 && (!v.col.filled || rest != len(filled)) || fill != [plainFill]byte{} {
		return fmt.Errorf("%d bytes of the page come after its last value: %w", rest, errMalformed)
	}
	return nil
}

// left is how many bytes come after data.
func (v *valueReader) left() int {
	if v.more == nil {
		return 0
	}
	return v.more.left
}

// refill makes sure that the next n values in PLAIN are in data, if there are so many.
func (v *valueReader) refill(n int) (err error) {
	if v.more == nil {
		return nil
	}
	if v.col.kind == kindBoolean {
		v.data, err = v.more.refill(v.data[v.pos/8:], (v.pos%8+n+7)/8)
		v.pos %= 8
		return err
	}
	v.data, err = v.more.refill(v.data[v.pos*v.col.width:], n*v.col.width)
	v.pos = 0
	return err
}

// doubles takes the next n values as they are stored, if that is how a double is
// stored; otherwise, or if the page has fewer, it returns nil, and read is to be
// used.
func (v *valueReader) doubles(n int) []byte {
	if v.encoding != format.Plain || v.col.kind != kindDouble || v.more != nil && v.refill(n) != nil || 8*(v.pos+n) > len(v.data) {
		return nil
	}
	src := v.data[8*v.pos : 8*(v.pos+n)]
	v.pos += n
	return src
}

// errFewValues is the error of a page that ends before its last value.
var errFewValues = fmt.Errorf("the page has fewer values than its header says: %w", errMalformed)

// bits decodes booleans, the lowest bit of a byte first.
func (v *valueReader) bits(dst []float64) error {
	if v.pos+len(dst) > 8*len(v.data) {
		return errFewValues
	}
	for i := range dst {
		at := v.pos + i
		dst[i] = float64(v.data[at>>3] >> (at & 7) & 1)
	}
	v.pos += len(dst)
	return nil
}

// lookUp decodes indexes into the dictionary.
func (v *valueReader) lookUp(dst []float64) error {
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
				return badIndex(v.indexes.value, table)
			}
			repeat(dst[:run], dst[0])
		} else if i := gather(dst, indexes, table); i < len(indexes) {
			return badIndex(indexes[i], table)
		}
		dst = dst[run+len(indexes):]
	}
	return nil
}

func badIndex(i int32, table []float64) error {
	return fmt.Errorf("index %d into a dictionary of %d: %w", uint32(i), len(table), errMalformed)
}

func repeat(dst []float64, v float64) {
	for i := range dst {
		dst[i] = v
	}
}

// gather sets dst[i] to table[indexes[i]] for all indexes. It stops at the first
// index beyond the table and returns how many came before it. dst has room.
func gather(dst []float64, indexes []int32, table []float64) int {
	dst = dst[:len(indexes)]
	i := 0
	for ; i+4 <= len(indexes); i += 4 { // four at a time, for one test of the loop
		x, to := indexes[i:i+4:i+4], dst[i:i+4:i+4]
		a, b, c, d := uint(uint32(x[0])), uint(uint32(x[1])), uint(uint32(x[2])), uint(uint32(x[3])) //nolint:gosec // G602 misreads the slice above: it has four
		if a >= uint(len(table)) || b >= uint(len(table)) || c >= uint(len(table)) || d >= uint(len(table)) {
			break // found below
		}
		to[0], to[1], to[2], to[3] = table[a], table[b], table[c], table[d]
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
func (v *valueReader) sums(dst []float64) error {
	for len(dst) > 0 {
		longs := v.longs[:min(len(dst), len(v.longs))]
		if err := v.delta.read(longs); err != nil {
			return err
		}
		if v.col.width == 4 {
			for i, x := range longs {
				dst[i] = v.col.integerValue(int64(int32(x)))
			}
		} else {
			for i, x := range longs {
				dst[i] = v.col.integerValue(x)
			}
		}
		dst = dst[len(longs):]
	}
	return nil
}

// streams decodes values whose first bytes stand together, then their second
// bytes, and so on.
func (v *valueReader) streams(dst []float64) error {
	width, n := v.col.width, len(dst)
	stride := v.size / width // bytes of one stream
	if v.pos+n > stride {
		return errFewValues
	}
	b := grow(&v.bytes, (width+1)*n)
	for k := range width {
		at, stream := k*stride+v.pos, b[width*n:]
		if v.pages == nil {
			stream = v.data[at:][:n]
		} else if err := v.pages.readAt(stream, v.pages.taken+at); err != nil {
			return err
		} else if len(v.checks) > 0 {
			v.checks[k].got = crc32.Update(v.checks[k].got, crc32.IEEETable, stream)
		}
		for i, x := range stream {
			b[i*width+k] = x
		}
	}
	v.col.plain(dst, b)
	v.pos += len(dst)
	return nil
}
