package lake

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// decoded are values of a page, without nulls, as parquet-go has decoded them.
type decoded struct {
	fixed   []byte   // of a fixed width, in PLAIN; booleans have a byte each
	texts   []byte   // of byte arrays, one after the other
	offsets []uint32 // where each begins, and the end of the last
	indexed bool     // they are indexes into the dictionary
}

// A decoder decodes the values of pages of one column into buffers that it uses again, unless
// keeps is true: the values share them.
type decoder struct {
	col   *column
	width int // bytes of a value in PLAIN: 0 for booleans, −1 for byte arrays
	keeps bool
	most  int64 // bytes of the texts of a page

	decoded

	indexes indexReader
	buf     []byte
	levels  []byte
}

var (
	errBooleanTable = fmt.Errorf("booleans with a dictionary: %w", errMalformed)
	errFewValues    = fmt.Errorf("the page has fewer values than its header says: %w", errMalformed)
)

// decode decodes n values, not null, that are all of data.
func (d *decoder) decode(encoding format.Encoding, data []byte, n int) (err error) {
	d.decoded = decoded{}
	if d.keeps {
		d.buf = nil
	}
	switch {
	case encoding == format.RLEDictionary || encoding == format.PlainDictionary: //nolint:staticcheck // older writers use the deprecated name
		if d.width == 0 {
			return errBooleanTable
		}
		d.indexed = true
		return d.indexes.reset(data, n, d.col.filled)
	case n == 0 && len(data) == 0: // only nulls
		return nil
	case encoding == format.Plain && d.width == 0:
		return d.decodeBits(data, n)
	case d.width > 0 && (encoding == format.Plain || encoding == format.ByteStreamSplit):
		size := n * d.width
		if len(data) < size {
			return errFewValues
		}
		if d.fixed = data[:size]; encoding == format.ByteStreamSplit {
			// A buffer of the right size: the library's own has twice as many bytes.
			d.fixed, err = parquet.ByteStreamSplit.DecodeFixedLenByteArray(grow(&d.buf, size), d.fixed, d.width)
		}
		return cmp.Or(d.col.noRest(data[size:]), err)
	case encoding == format.RLE && d.width == 0:
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) != uint64(len(data)-4) {
			return fmt.Errorf("booleans of another length than the page has: %w", errMalformed)
		}
		d.buf, err = decodeRuns(d.buf, data[4:], 1, n)
		if d.fixed = d.buf; err == nil && bytes.Count(d.fixed, []byte{0})+bytes.Count(d.fixed, []byte{1}) < n {
			err = fmt.Errorf("a boolean that is neither 0 nor 1: %w", errMalformed)
		}
		return err
	case encoding == format.DeltaBinaryPacked && (d.col.physical == format.Int32 || d.col.physical == format.Int64):
		return d.decodeDifferences(data, n)
	case encoding == format.DeltaByteArray || encoding == format.DeltaLengthByteArray || encoding == format.Plain:
		return d.decodeTexts(encoding, data, n)
	}
	return d.refused(encoding)
}

func (d *decoder) refused(encoding format.Encoding) error {
	return fmt.Errorf("encoding %v of %s values is not read; rewrite the file with encoding PLAIN or a dictionary", encoding, d.col.Type)
}

// decodeBits makes a byte of each boolean. The lowest bit of a byte comes first.
func (d *decoder) decodeBits(data []byte, n int) error {
	size := (n + 7) / 8
	if len(data) < size {
		return errFewValues
	}
	d.fixed = grow(&d.buf, n)
	for i := range d.fixed {
		d.fixed[i] = data[i>>3] >> (i & 7) & 1
	}
	return d.col.noRest(data[size:])
}

// decodeDifferences decodes integers that are stored as differences.
func (d *decoder) decodeDifferences(data []byte, n int) error {
	if rest, err := differences(data, n); err != nil || len(rest) > 0 {
		return cmp.Or(err, d.col.noRest(rest))
	}
	if d.width == 4 {
		values, err := parquet.DeltaBinaryPacked.DecodeInt32(arrow.Int32Traits.CastFromBytes(grow(&d.buf, 4*n)), data)
		return d.set(arrow.Int32Traits.CastToBytes(values), n, err)
	}
	values, err := parquet.DeltaBinaryPacked.DecodeInt64(arrow.Int64Traits.CastFromBytes(grow(&d.buf, 8*n)), data)
	return d.set(arrow.Int64Traits.CastToBytes(values), n, err)
}

// set takes n values of a fixed width from a decoder of the library.
func (d *decoder) set(fixed []byte, n int, err error) error {
	if d.fixed = fixed; err == nil && len(fixed) != n*d.width {
		return errFewValues
	}
	return err
}

// differences returns an error unless integers that are stored as differences claim to be n: the
// library allocates what they claim. It returns the bytes behind them.
func differences(data []byte, n int) (rest []byte, err error) {
	ends := func(k int) bool {
		if k <= 0 || k > len(data) {
			return true
		}
		data = data[k:]
		return false
	}
	var header [3]uint64 // values of a block, parts of a block, values
	for i := range header {
		v, k := binary.Uvarint(data)
		if header[i] = v; ends(k) {
			return nil, errFewValues
		}
	}
	if _, k := binary.Varint(data); header[0] > deltaMaxBlock || header[1]-1 >= header[0] || header[2] != uint64(n) || ends(k) {
		return nil, errFewValues
	}
	parts, left := int(header[1]), n-1
	each := int(header[0]) / parts
	for left > 0 {
		if _, k := binary.Varint(data); ends(k) || parts > len(data) {
			return nil, errFewValues
		}
		widths := data[:parts]
		data = data[parts:]
		for _, bits := range widths {
			if left > 0 && bits > 0 && ends(each*int(bits)/8) {
				return nil, errFewValues
			}
			left -= each
		}
	}
	return data, nil
}

// deltaMaxBlock is the largest number of values of a block of differences that is read.
const deltaMaxBlock = 1 << 16

// decodeTexts decodes byte arrays, and those of a fixed length in an encoding of byte arrays.
func (d *decoder) decodeTexts(encoding format.Encoding, data []byte, n int) (err error) {
	fixed := d.col.physical == format.FixedLenByteArray
	if d.width >= 0 && (!fixed || encoding != format.DeltaByteArray) {
		return d.refused(encoding)
	}
	if data, err = d.believeTexts(encoding, data, n); err != nil {
		return err
	}
	if fixed {
		values, err := parquet.DeltaByteArray.DecodeFixedLenByteArray(nil, data, d.width)
		return d.set(values, n, err)
	}
	if d.texts, d.offsets, err = parquet.LookupEncoding(encoding).DecodeByteArray(nil, data, nil); err == nil && len(d.offsets) != n+1 {
		err = errFewValues
	}
	return err
}

// believeTexts returns the bytes of n texts, or an error unless they are in data, before the library
// allocates what they claim. In DELTA_BYTE_ARRAY each text is a beginning of the text before and its own end.
func (d *decoder) believeTexts(encoding format.Encoding, data []byte, n int) ([]byte, error) {
	if rest := data; encoding == format.Plain {
		for range n {
			if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
				return nil, errFewValues
			}
			rest = rest[4+binary.LittleEndian.Uint32(rest):]
		}
		return data[:len(data)-len(rest)], d.col.noRest(rest)
	}
	rest, err := differences(data, n)
	if err != nil || encoding == format.DeltaLengthByteArray {
		return data, err
	}
	if _, err := differences(rest, n); err != nil {
		return nil, err
	}
	prefixes, err := parquet.DeltaBinaryPacked.DecodeInt32(nil, data)
	made := int64(len(rest))
	for _, p := range prefixes {
		made += int64(max(p, 0))
	}
	if made > d.most {
		return nil, fmt.Errorf("a page has texts of %d MiB, and at most %d are read: write smaller pages", made>>20+1, d.most>>20)
	}
	return data, err
}

// noRest returns an error if bytes follow a page's last value, as after reading values with a wrong
// width, unless they are the zeros of fastparquet.
func (c *column) noRest(rest []byte) error {
	if len(rest) == 0 || c.filled && len(rest) <= plainFill && bytes.Count(rest, []byte{0}) == len(rest) {
		return nil
	}
	return fmt.Errorf("%d bytes of the page come after its last value: %w", len(rest), errMalformed)
}

// plainFill is the number of zeros that fastparquet writes behind the last value, or index, of a page.
// In files of other writers they would mean a misread page.
const plainFill = 8

// decodeRuns decodes n values of at most 8 bits in runs and packed groups into dst, a byte each.
func decodeRuns(dst, data []byte, bits uint, n int) ([]byte, error) {
	data, err := parquetmeta.Runs(data, 0, bits, n)
	if err != nil {
		return dst, err
	}
	if dst, err = (&rle.Encoding{BitWidth: int(bits)}).DecodeLevels(dst, data); err == nil && len(dst) < n {
		err = errFewValues
	}
	return dst[:min(n, len(dst))], err
}
