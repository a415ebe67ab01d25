package sink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/internal/thrift"
)

// Model files and certificate rows are Parquet of one plain kind: flat columns or
// lists of numbers, encoding PLAIN, not compressed. They come from anybody, and
// their seal is no secret. The Parquet library allocates what such a file claims;
// what is here reads that one kind of file, in memory that is in proportion to its
// bytes.

// Physical types of Parquet.
const (
	physicalBoolean = 0
	physicalInt64   = 2
	physicalDouble  = 5
	physicalText    = 6  // BYTE_ARRAY
	physicalNone    = -1 // of a group
)

// Repetitions of Parquet.
const (
	required = 0
	optional = 1
	repeated = 2
)

// A node is an element of a schema.
type node struct {
	name                 string
	physical, repetition int64
	children             int64
}

func (n node) String() string {
	repetition := "required"
	if n.repetition >= 0 && n.repetition <= repeated {
		repetition = []string{"required", "optional", "repeated"}[n.repetition]
	}
	if n.physical == physicalNone {
		return fmt.Sprintf("%s group %.40q of %d", repetition, n.name, n.children)
	}
	return fmt.Sprintf("%s %.40q of type %d", repetition, n.name, n.physical)
}

// A columnChunk is where the pages of a column in a row group are.
type columnChunk struct {
	physical, codec  int64
	values           int64
	start, size      int64
	dictionary       bool
	described        bool // the footer has its description
	elsewhere, coded bool // in another file, or encrypted
}

// A rowGroup is some rows of all columns.
type rowGroup struct {
	rows   int64
	chunks []columnChunk
}

// A tableFile is a Parquet file with its footer read.
type tableFile struct {
	data   []byte // without the footer
	end    int64  // where the footer begins
	rows   int64
	schema []node // below the root, depth first
	groups []rowGroup
	keys   map[string]string
}

// thriftDepth bounds the nesting; a footer needs about ten.
const thriftDepth = 24

const (
	parquetMagic = "PAR1"
	parquetTail  = 8 // the footer's length and the magic

	// maxFooter bounds a footer: it holds the metadata, and a row group of a
	// million values needs some hundred bytes.
	maxFooter = maxMetadata + 1<<20
)

// errNoParquet says that a file does not begin and end like a Parquet file.
var errNoParquet = errors.New("it is no Parquet file")

// openTable reads the footer of a file with the given schema.
func openTable(data []byte, schema []node) (*tableFile, error) {
	f, err := readFooter(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	f.data = data[:f.end]
	if !slices.Equal(f.schema, schema) {
		return nil, fmt.Errorf("its columns are %.2000s, want %v", fmt.Sprint(f.schema), schema)
	}
	return f, f.check()
}

// readFooter reads the footer of a file of that size and nothing else of it.
func readFooter(r io.ReaderAt, size int64) (*tableFile, error) {
	var head [len(parquetMagic)]byte
	var tail [parquetTail]byte
	if size < int64(len(head)+len(tail)) {
		return nil, errNoParquet
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	if _, err := r.ReadAt(tail[:], size-parquetTail); err != nil {
		return nil, err
	}
	if string(head[:]) != parquetMagic || string(tail[4:]) != parquetMagic {
		return nil, errNoParquet
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > min(size-int64(len(head)+len(tail)), maxFooter) {
		return nil, fmt.Errorf("its footer claims %d bytes of %d", length, size)
	}
	f := &tableFile{end: size - parquetTail - length, keys: map[string]string{}}
	footer := make([]byte, length)
	if _, err := r.ReadAt(footer, f.end); err != nil {
		return nil, err
	}
	t := thrift.NewReader(footer, thriftDepth)
	f.footer(t)
	if rest := len(footer) - t.Read(); t.Err() == nil && rest != 0 {
		t.Failf("%d bytes follow", rest)
	}
	if t.Err() != nil {
		return nil, fmt.Errorf("footer: %w", t.Err())
	}
	return f, nil
}

// footer reads FileMetaData.
func (f *tableFile) footer(r *thrift.Reader) {
	r.Structure(thrift.Struct, func(id int16, kind byte) {
		switch id {
		case 2:
			r.List(kind, func(kind byte) {
				n := readNode(r, kind)
				if f.schema = append(f.schema, n); n.name == "" && n.physical != physicalNone {
					r.Failf("a column without a name")
				}
			})
			if len(f.schema) == 0 {
				r.Failf("no schema")
				return
			}
			f.schema = f.schema[1:]
		case 3:
			f.rows = r.Int64(kind)
		case 4:
			r.List(kind, func(kind byte) { f.groups = append(f.groups, readGroup(r, kind)) })
		case 5:
			r.List(kind, func(kind byte) { f.key(r, kind) })
		default:
			r.Skip(kind)
		}
	})
}

// readNode reads a SchemaElement.
func readNode(r *thrift.Reader, kind byte) node {
	n := node{physical: physicalNone}
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			n.physical = int64(r.Int32(kind))
		case 3:
			n.repetition = int64(r.Int32(kind))
		case 4:
			n.name = string(r.Text(kind))
		case 5:
			n.children = int64(r.Int32(kind))
		default:
			r.Skip(kind)
		}
	})
	return n
}

// key reads a KeyValue. A key has one value, for readers would choose differently.
func (f *tableFile) key(r *thrift.Reader, kind byte) {
	var key, value string
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			key = string(r.Text(kind))
		case 2:
			value = string(r.Text(kind))
		default:
			r.Skip(kind)
		}
	})
	if _, ok := f.keys[key]; ok {
		r.Failf("the key %.40q has two values", key)
	}
	f.keys[key] = value
}

// readGroup reads a RowGroup.
func readGroup(r *thrift.Reader, kind byte) rowGroup {
	var g rowGroup
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			r.List(kind, func(kind byte) {
				c := readChunk(r, kind)
				if g.chunks = append(g.chunks, c); !c.described {
					r.Failf("a chunk without a description")
				}
			})
		case 3:
			g.rows = r.Int64(kind)
		default:
			r.Skip(kind)
		}
	})
	if len(g.chunks) == 0 {
		r.Failf("a row group without columns")
	}
	return g
}

// readChunk reads a ColumnChunk.
func readChunk(r *thrift.Reader, kind byte) columnChunk {
	var c columnChunk
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			c.elsewhere = len(r.Text(kind)) > 0
		case 3:
			c.described = true
			c.describe(r, kind)
		case 8, 9:
			c.coded = true
			r.Skip(kind)
		default:
			r.Skip(kind)
		}
	})
	return c
}

// describe reads ColumnMetaData.
func (c *columnChunk) describe(r *thrift.Reader, kind byte) {
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			c.physical = int64(r.Int32(kind))
		case 4:
			c.codec = int64(r.Int32(kind))
		case 5:
			c.values = r.Int64(kind)
		case 7:
			c.size = r.Int64(kind)
		case 9:
			c.start = r.Int64(kind)
		case 11:
			c.dictionary = r.Int64(kind) > 0
		default:
			r.Skip(kind)
		}
	})
}

// check holds the footer against itself, its schema and the file's bytes.
func (f *tableFile) check() error {
	var leaves []node
	for _, n := range f.schema {
		if n.physical != physicalNone {
			leaves = append(leaves, n)
		}
	}
	var rows int64
	left := int64(len(f.data)) // no byte belongs to two chunks, so that nothing is read twice
	for _, g := range f.groups {
		if len(g.chunks) != len(leaves) {
			return fmt.Errorf("a row group has %d columns, the schema %d", len(g.chunks), len(leaves))
		}
		if g.rows < 0 || g.rows > int64(len(f.data)) { // every row has more than a byte
			return fmt.Errorf("a row group claims %d rows of %d bytes", g.rows, len(f.data))
		}
		rows += g.rows
		for i, c := range g.chunks {
			switch {
			case c.elsewhere, c.coded, c.physical != leaves[i].physical:
				return fmt.Errorf("column %d is stored in another way", i)
			case c.codec != 0:
				return fmt.Errorf("column %d is compressed; a file of this kind is not", i)
			case c.dictionary:
				return errDictionary
			case c.start < int64(len(parquetMagic)) || c.size < 0 || c.start > int64(len(f.data)) || c.size > int64(len(f.data))-c.start:
				return fmt.Errorf("column %d claims %d bytes at %d of %d", i, c.size, c.start, len(f.data))
			}
			if left -= c.size; left < 0 {
				return fmt.Errorf("its columns claim more than its %d bytes", len(f.data))
			}
		}
	}
	if rows != f.rows {
		return fmt.Errorf("it claims %d rows, its row groups %d", f.rows, rows)
	}
	return nil
}

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
