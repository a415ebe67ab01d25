package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/pacsgp/pacsgp/internal/thrift"
)

var errDictionary = errors.New("a page is dictionary-encoded; a file of this kind is PLAIN")

// A page is some values of a column, with their levels where the column has such.
type page struct {
	values                 int64 // nulls included
	repetition, definition []byte
	data                   []byte // PLAIN
}

// pages hands the pages of leaf column c to use, in order. levels says whether the
// column has repetition and definition levels, of one bit each.
func (f *tableFile) pages(c int, repetition, definition bool, use func(p page) error) error {
	for _, g := range f.groups {
		chunk := g.chunks[c]
		rest := f.data[chunk.start : chunk.start+chunk.size]
		left := chunk.values
		for len(rest) > 0 {
			h, length, err := readPageHeader(rest)
			if err != nil {
				return err
			}
			body := rest[length:]
			if h.size < 0 || h.size > int64(len(body)) || h.uncompressed != h.size {
				return fmt.Errorf("a page claims %d bytes, %d of them stored, and %d are left", h.uncompressed, h.size, len(body))
			}
			body, rest = body[:h.size], body[h.size:]
			if h.checked && crc32.ChecksumIEEE(body) != h.sum {
				return errors.New("the checksum of a page is wrong: the file is damaged")
			}
			if left -= h.values; h.values < 0 || left < 0 {
				return fmt.Errorf("its pages have more than the %d values that the footer says", chunk.values)
			}
			p, err := h.page(body, repetition, definition)
			if err == nil {
				err = use(p)
			}
			if err != nil {
				return err
			}
		}
		if left != 0 {
			return fmt.Errorf("%d of its %d values are missing", left, chunk.values)
		}
	}
	return nil
}

// A pageHeader is what is used of PageHeader.
type pageHeader struct {
	kind               int64
	uncompressed, size int64
	sum                uint32
	checked            bool
	values, encoding   int64
	levels             [2]int64 // bytes of repetition and definition levels, in version 2
	levelEncoding      [2]int64 // the encodings of the same, in version 1
}

// Kinds of pages, and encodings.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3

	encodingPlain = 0
	encodingRLE   = 3
)

// readPageHeader reads the header at the start of b and returns its length.
func readPageHeader(b []byte) (h pageHeader, length int, err error) {
	r := thrift.NewReader(b, thriftDepth)
	h.kind = -1
	r.Structure(thrift.Struct, func(id int16, kind byte) {
		switch id {
		case 1:
			h.kind = int64(r.Int32(kind))
		case 2:
			h.uncompressed = int64(r.Int32(kind))
		case 3:
			h.size = int64(r.Int32(kind))
		case 4:
			h.checked, h.sum = true, uint32(r.Int32(kind))
		case 5, 8:
			h.data(r, id, kind)
		default:
			r.Skip(kind)
		}
	})
	if r.Err() != nil {
		return h, 0, fmt.Errorf("header of a page: %w", r.Err())
	}
	switch {
	case h.kind == dictionaryPage:
		return h, 0, errDictionary
	case h.kind != dataPage && h.kind != dataPage2:
		return h, 0, fmt.Errorf("a page of kind %d", h.kind)
	case h.encoding != encodingPlain:
		return h, 0, fmt.Errorf("a page has encoding %d; a file of this kind is PLAIN", h.encoding)
	}
	return h, r.Read(), nil
}

// data reads DataPageHeader (field 5) or DataPageHeaderV2 (field 8).
func (h *pageHeader) data(r *thrift.Reader, version int16, kind byte) {
	r.Structure(kind, func(id int16, kind byte) {
		switch {
		case id == 1:
			h.values = int64(r.Int32(kind))
		case id == 2 && version == 5, id == 4 && version == 8:
			h.encoding = int64(r.Int32(kind))
		case id == 3 && version == 5:
			h.levelEncoding[1] = int64(r.Int32(kind))
		case id == 4 && version == 5:
			h.levelEncoding[0] = int64(r.Int32(kind))
		case id == 5 && version == 8:
			h.levels[1] = int64(r.Int32(kind))
		case id == 6 && version == 8:
			h.levels[0] = int64(r.Int32(kind))
		default:
			r.Skip(kind)
		}
	})
}

// page takes a body apart.
func (h pageHeader) page(body []byte, repetition, definition bool) (page, error) {
	p := page{values: h.values}
	for i, has := range []bool{repetition, definition} {
		n := h.levels[i]
		switch {
		case h.kind == dataPage2:
			if !has && n != 0 {
				return p, errors.New("a page has levels that its column has not")
			}
		case !has:
			continue
		case h.levelEncoding[i] != encodingRLE:
			return p, fmt.Errorf("levels have encoding %d, want RLE", h.levelEncoding[i])
		case len(body) < 4:
			return p, thrift.ErrShort
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

// levels decodes n levels of one bit. The caller has bounded n.
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

// doubles decodes the numbers of a page that has as many as it says.
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
