// Package parquetmeta reads footers and page headers of Parquet files. The files may come from
// anybody: a structure without its required fields is an error at once, so that memory is at most a
// small multiple of the bytes. Byte slices in results are parts of the footer.
package parquetmeta

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// A File is a FileMetaData of the Parquet format.
type File struct {
	Rows      int64
	Schema    []Element
	Groups    []RowGroup
	Keys      []KeyValue
	Writer    []byte
	Orders    []bool // for each column: whether its order is declared
	Encrypted bool   // the footer is signed
}

// A KeyValue is one entry of a file's metadata for readers.
type KeyValue struct{ Key, Value []byte }

// An Element is a SchemaElement of the Parquet format.
type Element struct {
	Name       string
	Physical   format.Type // −1 if it is a group
	Length     int32
	Repetition int32 // −1 if it is missing
	Children   int32
	Converted  deprecated.ConvertedType // −1 if there is none
	Scale      int32
	Precision  int32
	Logical    Logical
	Odd        int16 // number of an unknown field; −1 if that is 0, and 0 if there is none
}

// A Logical is a LogicalType of the Parquet format.
type Logical struct {
	Kind             int16 // number of the field in the union; 0 if there is none
	UTC              bool
	Unit             int16 // of a time or timestamp: number of the field in TimeUnit
	Bits             int8
	Signed           bool
	Scale, Precision int32
}

// Field numbers of LogicalType and TimeUnit.
const (
	LogicalNone      = 0
	LogicalString    = 1
	LogicalMap       = 2
	LogicalList      = 3
	LogicalEnum      = 4
	LogicalDecimal   = 5
	LogicalDate      = 6
	LogicalTime      = 7
	LogicalTimestamp = 8
	LogicalInteger   = 10
	LogicalNull      = 11
	LogicalJSON      = 12
	LogicalBSON      = 13
	LogicalUUID      = 14
	LogicalFloat16   = 15

	UnitMillis = 1
	UnitMicros = 2
	UnitNanos  = 3
)

// A RowGroup has the same rows of each column.
type RowGroup struct {
	Rows   int64
	Chunks []Chunk
}

// A Chunk is a ColumnChunk with its ColumnMetaData.
type Chunk struct {
	File         []byte // the file with the pages, if it is another one
	Encrypted    bool
	Physical     format.Type
	Codec        format.CompressionCodec
	Path         []byte // the names of the path, joined by dots
	Depth        int    // number of names in the path
	Values       int64
	Uncompressed int64
	Compressed   int64
	Data         int64 // offset of the first data page
	Dictionary   int64 // offset of the dictionary page; 0 if there is none
	Stats        Statistics
}

// Statistics are the statistics of a chunk. Inexact bounds are still valid bounds.
type Statistics struct {
	Min, Max           []byte // deprecated: compared as signed integers
	MinValue, MaxValue []byte
	InexactMin         bool
	InexactMax         bool
	Counted            bool // Nulls is known
	Nulls              int64
}

const (
	// Magic begins and ends a Parquet file.
	Magic = "PAR1"
	// TailLength is the size of the footer's length and the magic after it.
	TailLength = 8

	magicEncrypted = "PARE"
)

// Footer returns the footer of a file of size bytes. It must have at most most bytes.
func Footer(r io.ReaderAt, size, most int64) ([]byte, error) {
	if size < int64(len(Magic))+TailLength {
		return nil, fmt.Errorf("%d bytes are too few for a Parquet file; was it written to its end?", size)
	}
	var tail [TailLength]byte
	if _, err := r.ReadAt(tail[:], size-TailLength); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case Magic:
	case magicEncrypted:
		return nil, errors.New("the file is encrypted, which is not read; decrypt it first")
	default:
		return nil, errors.New("the file does not end like a Parquet file; is it one, and was it written to its end?")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-TailLength-int64(len(Magic)) {
		return nil, fmt.Errorf("the footer claims %d bytes of a file of %d: %w", length, size, ErrMalformed)
	}
	if length > most {
		return nil, fmt.Errorf("the footer has %d bytes, at most %d are read; write fewer row groups to a file", length, most)
	}
	b := make([]byte, length)
	if _, err := r.ReadAt(b, size-TailLength-length); err != nil {
		return nil, err
	}
	return b, nil
}

// Read decodes a footer, and returns the number of bytes that it used.
func Read(b []byte) (*File, int, error) {
	r := newReader(b)
	m := new(File)
	has, _ := r.structure(typeStruct, "the footer", fields{
		2: func(kind byte) {
			r.list(kind, func(kind byte) { m.Schema = append(m.Schema, readElement(r, kind)) })
		},
		3: &m.Rows,
		4: func(kind byte) {
			leaves := 0
			for i := range m.Schema {
				if m.Schema[i].Physical >= 0 {
					leaves++
				}
			}
			r.list(kind, func(kind byte) { m.Groups = append(m.Groups, readRowGroup(r, kind, leaves)) })
		},
		5: func(kind byte) {
			r.list(kind, func(kind byte) {
				var kv KeyValue
				r.structure(kind, "a key and its value", fields{1: &kv.Key, 2: &kv.Value}, 1)
				m.Keys = append(m.Keys, kv)
			})
		},
		6: &m.Writer,
		7: func(kind byte) {
			r.list(kind, func(kind byte) {
				order, _ := r.structure(kind, "", nil)
				m.Orders = append(m.Orders, order.has(1))
			})
		},
	}, 2, 3, 4)
	m.Encrypted = has.has(8)
	return m, r.pos, r.err
}

// readElement reads a SchemaElement. Unknown fields may change the meaning of its column.
func readElement(r *reader, kind byte) Element {
	e := Element{Physical: -1, Repetition: -1, Converted: -1}
	var name []byte
	var id int32
	has, others := r.structure(kind, "a schema element", fields{
		1: (*int32)(&e.Physical), 2: &e.Length, 3: &e.Repetition, 4: &name, 5: &e.Children,
		6: (*int32)(&e.Converted), 7: &e.Scale, 8: &e.Precision, 9: &id,
		10: func(kind byte) { e.Logical = readLogical(r, kind) },
	}, 4)
	e.Name = string(name)
	switch {
	case has.has(1) && (e.Physical < 0 || e.Physical > format.FixedLenByteArray):
		r.failf("a column is stored as type %d", e.Physical)
	case has.has(3) && (e.Repetition < 0 || e.Repetition > int32(format.Repeated)):
		r.failf("a column has repetition %d", e.Repetition)
	case has.has(6) && e.Converted < 0:
		r.failf("a column has converted type %d", e.Converted)
	case len(others) > 0:
		e.Odd = cmp.Or(others[0], -1)
	}
	return e
}

func readLogical(r *reader, kind byte) Logical {
	var l Logical
	unit := func(kind byte) {
		l.Unit = r.union(kind, func(_ int16, kind byte) { r.each(kind, nil) })
	}
	members := map[int16]fields{
		LogicalDecimal:   {1: &l.Scale, 2: &l.Precision},
		LogicalTime:      {1: &l.UTC, 2: unit},
		LogicalTimestamp: {1: &l.UTC, 2: unit},
		LogicalInteger:   {1: &l.Bits, 2: &l.Signed},
	}
	r.union(kind, func(id int16, kind byte) {
		if id < 1 {
			r.failf("logical type %d", id)
		}
		l.Kind = min(id, 1<<10)
		_, others := r.structure(kind, "", members[l.Kind])
		if len(others) > 0 && l.Kind <= LogicalFloat16 { // later types are not read
			r.failf("a logical type %d with field %d", l.Kind, others[0])
		}
	})
	return l
}

// readRowGroup reads a RowGroup, which must have as many chunks as the schema has leaves.
func readRowGroup(r *reader, kind byte, leaves int) RowGroup {
	var g RowGroup
	r.structure(kind, "a row group", fields{
		1: func(kind byte) {
			r.list(kind, func(kind byte) { g.Chunks = append(g.Chunks, readChunk(r, kind)) })
			if len(g.Chunks) != leaves {
				r.failf("a row group has %d columns, the schema %d", len(g.Chunks), leaves)
			}
		},
		3: &g.Rows,
	}, 1, 3)
	return g
}

func readChunk(r *reader, kind byte) Chunk {
	var c Chunk
	has, _ := r.structure(kind, "", fields{1: &c.File, 3: func(kind byte) { c.describe(r, kind) }})
	c.Encrypted = has.has(8) || has.has(9)
	if !has.has(3) && !c.Encrypted {
		r.failf("a chunk without a description")
	}
	return c
}

func (c *Chunk) describe(r *reader, kind byte) {
	r.structure(kind, "the description of a chunk", fields{
		1: (*int32)(&c.Physical),
		2: func(kind byte) {
			r.list(kind, func(kind byte) {
				r.int32(kind)
			})
		},
		3: func(kind byte) {
			r.list(kind, func(kind byte) {
				if c.Depth > 0 {
					c.Path = append(slices.Clip(c.Path), '.')
				}
				c.Path = append(c.Path, r.text(kind)...)
				c.Depth++
			})
		},
		4: (*int32)(&c.Codec), 5: &c.Values, 6: &c.Uncompressed, 7: &c.Compressed, 9: &c.Data, 11: &c.Dictionary,
		12: func(kind byte) { c.Stats.read(r, kind) },
	}, 1, 2, 3, 4, 5, 6, 7, 9)
}

func (s *Statistics) read(r *reader, kind byte) {
	exactMin, exactMax := true, true
	has, _ := r.structure(kind, "", fields{
		1: &s.Max, 2: &s.Min, 3: &s.Nulls, 5: &s.MaxValue, 6: &s.MinValue, 7: &exactMax, 8: &exactMin,
	})
	s.Counted, s.InexactMin, s.InexactMax = has.has(3), !exactMin, !exactMax
}

// A PageHeader is a PageHeader of the format, with the header of its kind of page.
type PageHeader struct {
	Kind         format.PageType
	Uncompressed int32
	Compressed   int32
	Checked      bool
	Sum          uint32
	Described    bool // it has the header of its kind

	Values   int32
	Encoding format.Encoding
	// In version 1, the encodings of levels:
	DefinitionLevels, RepetitionLevels format.Encoding
	// In version 2:
	Nulls, Rows            int32
	Definition, Repetition int32 // size of the levels, in bytes
	Stored                 bool  // the values are not compressed, whatever the codec of the chunk
}

// ReadPageHeader decodes the header at the start of b, and returns its length. If the error wraps
// [ErrShort], more bytes may help.
func ReadPageHeader(b []byte) (PageHeader, int, error) {
	r := newReader(b)
	var h PageHeader
	var sum int32
	// describe reads the header of a kind of page.
	describe := func(of format.PageType, to fields, needed ...int) func(kind byte) {
		return func(kind byte) {
			if h.Kind != of {
				r.failf("a page of kind %d with the header of kind %d", h.Kind, of)
			}
			h.Described = true
			r.structure(kind, "a page header", to, needed...)
		}
	}
	encoding, compressed := (*int32)(&h.Encoding), true
	has, _ := r.structure(typeStruct, "a page header", fields{
		1: (*int32)(&h.Kind), 2: &h.Uncompressed, 3: &h.Compressed, 4: &sum,
		5: describe(format.DataPage, fields{1: &h.Values, 2: encoding, 3: (*int32)(&h.DefinitionLevels), 4: (*int32)(&h.RepetitionLevels)}, 1, 2, 3),
		7: describe(format.DictionaryPage, fields{1: &h.Values, 2: encoding}, 1, 2),
		8: describe(format.DataPageV2, fields{
			1: &h.Values, 2: &h.Nulls, 3: &h.Rows, 4: encoding, 5: &h.Definition, 6: &h.Repetition, 7: &compressed,
		}, 1, 2, 3, 4, 5, 6),
	}, 1, 2, 3)
	if r.err != nil {
		return h, 0, r.err
	}
	h.Checked, h.Sum, h.Stored = has.has(4), uint32(sum), !compressed
	return h, r.pos, nil
}
