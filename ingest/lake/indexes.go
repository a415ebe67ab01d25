package lake

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/bitpack"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// indexBlock is the number of indexes that are unpacked at a time: they stay in the first cache until the
// values are taken from the dictionary.
const indexBlock = 1024

// An indexReader unpacks the indexes of a page into its dictionary.
type indexReader struct {
	data  []byte // runs that are still to be read, which parquetmeta.Runs has checked
	width int    // bits of an index

	equal, packed int     // indexes left of a run of equal ones, or of packed groups
	block         []int32 // unpacked, not used yet
	unpacked      [indexBlock]int32
	padded        [indexBlock*4 + bitpack.PaddingInt32]byte
}

// reset puts r before the n indexes of a page.
func (r *indexReader) reset(data []byte, n int, filled bool) error {
	r.data, r.block, r.equal, r.packed = nil, nil, 0, 0
	switch {
	case n == 0:
		return nil
	case len(data) == 0:
		return errFewValues
	case data[0] > 32:
		return fmt.Errorf("indexes of %d bits: %w", data[0], errMalformed)
	}
	r.width = int(data[0])
	whole, err := parquetmeta.Runs(data, 1, uint(r.width), n)
	if rest, zeros := bytes.CutSuffix(data, make([]byte, plainFill)); err != nil && zeros && filled {
		whole, err = parquetmeta.Runs(rest, 1, uint(r.width), n)
	}
	switch {
	case r.width == 0 && (err == nil || len(data) == 1):
		r.equal = n
		clear(r.unpacked[:])
		return nil
	case err == nil:
		r.data = whole[1:]
	}
	return err
}

// next unpacks a block of indexes, none at the end.
func (r *indexReader) next() []int32 {
	if r.equal == 0 && r.packed == 0 {
		u, k := binary.Uvarint(r.data)
		if k <= 0 {
			return nil
		}
		if r.data = r.data[k:]; u&1 == 1 {
			r.packed = int(u>>1) * 8
		} else {
			r.equal = int(u >> 1)
			var value [4]byte
			r.data = r.data[copy(value[:(r.width+7)/8], r.data):]
			for i := range r.unpacked {
				r.unpacked[i] = int32(binary.LittleEndian.Uint32(value[:]))
			}
		}
	}
	if r.equal > 0 {
		n := min(r.equal, indexBlock)
		r.equal -= n
		return r.unpacked[:n]
	}
	n := min(r.packed, indexBlock)
	size := n / 8 * r.width
	from := r.data
	if len(from) < size+bitpack.PaddingInt32 { // Unpack reads so many bytes behind the last
		from = r.padded[:]
		copy(from, r.data[:size])
	}
	bitpack.Unpack(r.unpacked[:n], from, uint(r.width))
	r.data, r.packed = r.data[size:], r.packed-n
	return r.unpacked[:n]
}

// lookUp sets dst to the values of the next indexes.
func lookUp[V any](dst []V, r *indexReader, table []V) error {
	for len(dst) > 0 {
		if len(r.block) == 0 {
			r.block = r.next()
		}
		n := min(len(dst), len(r.block))
		if n == 0 {
			return errFewValues
		}
		if err := gather(dst, r.block[:n], table); err != nil {
			return err
		}
		dst, r.block = dst[n:], r.block[n:]
	}
	return nil
}

// gather sets dst[i] to table[indexes[i]]. dst is long enough.
func gather[V any](dst []V, indexes []int32, table []V) error {
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
			return fmt.Errorf("index %d into a dictionary of %d: %w", k, len(table), errMalformed)
		}
		dst[i] = table[k]
	}
	return nil
}
