package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

var errDictionary = errors.New("a page is dictionary-encoded; a file of this kind is PLAIN")

// A page has some values of a column, with their levels if the column has levels.
type page struct {
	values                 int64 // nulls included
	repetition, definition []byte
	data                   []byte // PLAIN
}

// pages calls use for each page of leaf column c, in order. repetition and definition say whether
// the column has such levels, of one bit.
func (f *tableFile) pages(c int, repetition, definition bool, use func(p page) error) error {
	for _, g := range f.groups {
		chunk := g.Chunks[c]
		rest := f.data[chunk.Data : chunk.Data+chunk.Compressed]
		left := chunk.Values
		for len(rest) > 0 {
			h, length, err := readPageHeader(rest)
			if err != nil {
				return err
			}
			body := rest[length:]
			if h.Compressed < 0 || int64(h.Compressed) > int64(len(body)) || h.Uncompressed != h.Compressed {
				return fmt.Errorf("a page claims %d bytes, %d of them stored, and %d are left", h.Uncompressed, h.Compressed, len(body))
			}
			body, rest = body[:h.Compressed], body[h.Compressed:]
			if h.Checked && crc32.ChecksumIEEE(body) != h.Sum {
				return errors.New("the checksum of a page is wrong: the file is damaged")
			}
			if left -= int64(h.Values); h.Values < 0 || left < 0 {
				return fmt.Errorf("its pages have more than the %d values that the footer says", chunk.Values)
			}
			p, err := newPage(h, body, repetition, definition)
			if err == nil {
				err = use(p)
			}
			if err != nil {
				return err
			}
		}
		if left != 0 {
			return fmt.Errorf("%d of its %d values are missing", left, chunk.Values)
		}
	}
	return nil
}

// readPageHeader reads the header at the start of b and returns its length.
func readPageHeader(b []byte) (h parquetmeta.PageHeader, length int, err error) {
	h, length, err = parquetmeta.ReadPageHeader(b)
	switch {
	case err != nil:
		return h, 0, fmt.Errorf("header of a page: %w", err)
	case h.Kind == format.DictionaryPage:
		return h, 0, errDictionary
	case h.Kind != format.DataPage && h.Kind != format.DataPageV2 || !h.Described:
		return h, 0, fmt.Errorf("a page of kind %d", h.Kind)
	case h.Encoding != format.Plain:
		return h, 0, fmt.Errorf("a page has encoding %d; a file of this kind is PLAIN", h.Encoding)
	}
	return h, length, nil
}

func newPage(h parquetmeta.PageHeader, body []byte, repetition, definition bool) (page, error) {
	p := page{values: int64(h.Values)}
	encodings := []format.Encoding{h.RepetitionLevels, h.DefinitionLevels}
	lengths := []int32{h.Repetition, h.Definition} // in version 2
	for i, has := range []bool{repetition, definition} {
		n := int64(lengths[i])
		switch {
		case h.Kind == format.DataPageV2:
			if !has && n != 0 {
				return p, errors.New("a page has levels that its column has not")
			}
		case !has:
			continue
		case encodings[i] != format.RLE:
			return p, fmt.Errorf("levels have encoding %d, want RLE", encodings[i])
		case len(body) < 4:
			return p, parquetmeta.ErrShort
		default: // version 1 has the length in front
			n, body = int64(binary.LittleEndian.Uint32(body)), body[4:]
		}
		if n < 0 || n > int64(len(body)) {
			return p, fmt.Errorf("levels of %d bytes in %d", n, len(body))
		}
		if i == 0 {
			p.repetition = body[:n]
		} else {
			p.definition = body[:n]
		}
		body = body[n:]
	}
	p.data = body
	return p, nil
}

// levels decodes n levels of one bit. The caller bounds n.
func levels(b []byte, n int) ([]byte, error) {
	out := make([]byte, 0, n)
	for len(out) < n {
		head, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, errors.New("levels end early")
		}
		b = b[size:]
		count := min(head>>1, uint64(n))
		if head&1 == 0 { // a run of one value
			if len(b) == 0 || b[0] > 1 {
				return nil, errors.New("a level that is not 0 or 1")
			}
			for count = min(count, uint64(n-len(out))); count > 0; count-- {
				out = append(out, b[0])
			}
			b = b[1:]
			continue
		}
		for ; count > 0 && len(out) < n; count-- { // groups of eight
			if len(b) == 0 {
				return nil, errors.New("levels end early")
			}
			for bit := 0; bit < 8 && len(out) < n; bit++ {
				out = append(out, b[0]>>bit&1)
			}
			b = b[1:]
		}
	}
	return out, nil
}

// doubles decodes the numbers of a page. Another number of them than the header says is an error.
func (p page) doubles() ([]float64, error) {
	if p.values != int64(len(p.data)/8) || len(p.data)%8 != 0 {
		return nil, fmt.Errorf("a page has %d bytes for %d numbers", len(p.data), p.values)
	}
	out := make([]float64, p.values)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(p.data[8*i:]))
	}
	return out, nil
}
