// Package parquetmeta reads what Parquet files say of themselves: footers and the headers
// of pages. The files come from anybody. Nothing of what is read is larger in memory than a
// small multiple of its bytes, for a structure that lacks what it must have is refused
// where it stands. Byte slices are parts of the footer.
package parquetmeta

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/thrift"
)

// thriftDepth bounds the nesting; a footer needs about ten.
const thriftDepth = 24

// A File is FileMetaData.
type File struct {
	Rows      int64
	Schema    []Element
	Groups    []RowGroup
	Keys      []KeyValue
	Writer    []byte
	Orders    []bool // of the columns: whether there is one
	Encrypted bool   // the footer is signed
}

// A KeyValue is what a file says for its readers.
type KeyValue struct{ Key, Value []byte }

// An Element is a SchemaElement.
type Element struct {
	Name       string
	Physical   format.Type // −1 of a group
	Length     int32
	Repetition int32 // −1 if it is missing
	Children   int32
	Converted  deprecated.ConvertedType // −1 if there is none
	Scale      int32
	Precision  int32
	Logical    Logical
	Odd        int16 // the number of a field that nobody knows
}

// A Logical is a LogicalType.
type Logical struct {
	Kind             int16 // the field of the union; 0 if there is none
	UTC              bool
	Unit             int16 // of time: the field of the union
	Bits             int8
	Signed           bool
	Scale, Precision int32
}

// The members of LogicalType and of TimeUnit.
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

// A RowGroup is some rows of all columns.
type RowGroup struct {
	Rows   int64
	Chunks []Chunk
}

// A Chunk is a ColumnChunk and its ColumnMetaData.
type Chunk struct {
	File         []byte // where the pages are, if not here
	Encrypted    bool
	Physical     format.Type
	Codec        format.CompressionCodec
	Plain, RLE   bool // encodings of its pages
	Told, Runs   bool // there are counts of pages by encoding; some are data pages in RLE
	Spelled      bool // and some are data pages in PLAIN
	Path         []byte
	Depth        int // names in the path
	Values       int64
	Uncompressed int64
	Compressed   int64
	Data         int64 // offset of the first data page
	Dictionary   int64 // offset of the dictionary page, 0 if there is none
	Stats        Statistics
}

// Statistics is Statistics of a chunk. Bounds that are not exact are bounds all the same.
type Statistics struct {
	Min, Max           []byte // deprecated: in the order of signed integers
	MinValue, MaxValue []byte
	InexactMin         bool
	InexactMax         bool
	Counted            bool // there is a number of nulls
	Nulls              int64
}

// Read reads a footer and returns how many of its bytes it has.
func Read(b []byte) (*File, int, error) {
	r := thrift.NewReader(b, thriftDepth)
	m := new(File)
	has := r.Structure(thrift.Struct, func(id int16, kind byte) {
		switch id {
		case 2:
			r.List(kind, func(kind byte) { m.Schema = append(m.Schema, readElement(r, kind)) })
		case 3:
			m.Rows = r.Int64(kind)
		case 4:
			leaves := m.leaves()
			r.List(kind, func(kind byte) { m.Groups = append(m.Groups, readRowGroup(r, kind, leaves)) })
		case 5:
			r.List(kind, func(kind byte) { m.Keys = append(m.Keys, readKeyValue(r, kind)) })
		case 6:
			m.Writer = r.Text(kind)
		case 7:
			r.List(kind, func(kind byte) {
				m.Orders = append(m.Orders, r.Structure(kind, nil).Has(1))
			})
		case 8:
			m.Encrypted = true
		}
	})
	r.Need(has, "the footer", 2, 3, 4)
	return m, r.Read(), r.Err()
}

// readKeyValue reads a KeyValue.
func readKeyValue(r *thrift.Reader, kind byte) (kv KeyValue) {
	has := r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			kv.Key = r.Text(kind)
		case 2:
			kv.Value = r.Text(kind)
		}
	})
	r.Need(has, "a key and its value", 1)
	return kv
}

// leaves is how many columns the schema has.
func (m *File) leaves() int {
	n := 0
	for i := range m.Schema {
		if m.Schema[i].Physical >= 0 {
			n++
		}
	}
	return n
}

// readElement reads a SchemaElement. Of one with a field that is unknown here nobody
// knows what its column means.
func readElement(r *thrift.Reader, kind byte) Element {
	e := Element{Physical: -1, Repetition: -1, Converted: -1}
	has := r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			if e.Physical = format.Type(r.Int32(kind)); e.Physical < 0 || e.Physical > format.FixedLenByteArray {
				r.Failf("a column is stored as type %d", e.Physical)
			}
		case 2:
			e.Length = r.Int32(kind)
		case 3:
			if e.Repetition = r.Int32(kind); e.Repetition < 0 || e.Repetition > int32(format.Repeated) {
				r.Failf("a column has repetition %d", e.Repetition)
			}
		case 4:
			e.Name = string(r.Text(kind))
		case 5:
			e.Children = r.Int32(kind)
		case 6:
			if e.Converted = deprecated.ConvertedType(r.Int32(kind)); e.Converted < 0 {
				r.Failf("a column has converted type %d", e.Converted)
			}
		case 7:
			e.Scale = r.Int32(kind)
		case 8:
			e.Precision = r.Int32(kind)
		case 9:
			r.Int32(kind)
		case 10:
			e.Logical = readLogical(r, kind)
		default:
			e.Odd = id
		}
	})
	r.Need(has, "a schema element", 4)
	return e
}

// readLogical reads a LogicalType.
func readLogical(r *thrift.Reader, kind byte) Logical {
	var l Logical
	member := func(id int16, kind byte) {
		switch l.Kind*16 + id {
		case LogicalDecimal*16 + 1:
			l.Scale = r.Int32(kind)
		case LogicalDecimal*16 + 2:
			l.Precision = r.Int32(kind)
		case LogicalTime*16 + 1, LogicalTimestamp*16 + 1:
			l.UTC = r.Bool(kind)
		case LogicalTime*16 + 2, LogicalTimestamp*16 + 2:
			l.Unit = readUnion(r, kind, func(_ int16, kind byte) { r.Structure(kind, nil) })
		case LogicalInteger*16 + 1:
			l.Bits = r.Byte(kind)
		case LogicalInteger*16 + 2:
			l.Signed = r.Bool(kind)
		default:
			if l.Kind <= LogicalFloat16 { // others are not read
				r.Failf("a logical type %d with field %d", l.Kind, id)
			}
		}
	}
	readUnion(r, kind, func(id int16, kind byte) {
		if id < 1 {
			r.Failf("logical type %d", id)
		}
		l.Kind = min(id, 1<<10)
		r.Structure(kind, member)
	})
	return l
}

// readUnion reads a structure of one field, whose number it returns.
func readUnion(r *thrift.Reader, kind byte, field func(id int16, kind byte)) int16 {
	var member int16
	n := 0
	r.Structure(kind, func(id int16, kind byte) {
		if n++; n > 1 {
			r.Failf("a union of two fields")
		}
		member = id
		field(id, kind)
	})
	if n == 0 {
		r.Failf("a union of no field")
	}
	return member
}

// readRowGroup reads a RowGroup with a number of columns.
func readRowGroup(r *thrift.Reader, kind byte, leaves int) RowGroup {
	var g RowGroup
	has := r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			r.List(kind, func(kind byte) { g.Chunks = append(g.Chunks, readChunk(r, kind)) })
			if len(g.Chunks) != leaves {
				r.Failf("a row group has %d columns, the schema %d", len(g.Chunks), leaves)
			}
		case 3:
			g.Rows = r.Int64(kind)
		}
	})
	r.Need(has, "a row group", 1, 3)
	return g
}

// readChunk reads a ColumnChunk.
func readChunk(r *thrift.Reader, kind byte) Chunk {
	var c Chunk
	described := false
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			c.File = r.Text(kind)
		case 3:
			described = true
			c.describe(r, kind)
		case 8, 9:
			c.Encrypted = true
		}
	})
	if !described && !c.Encrypted {
		r.Failf("a chunk without a description")
	}
	return c
}

// describe reads ColumnMetaData.
func (c *Chunk) describe(r *thrift.Reader, kind byte) {
	has := r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			c.Physical = format.Type(r.Int32(kind))
		case 2:
			r.List(kind, func(kind byte) {
				switch format.Encoding(r.Int32(kind)) {
				case format.Plain:
					c.Plain = true
				case format.RLE:
					c.RLE = true
				default:
				}
			})
		case 3:
			r.List(kind, func(kind byte) {
				c.Path = r.Text(kind)
				c.Depth++
			})
		case 4:
			c.Codec = format.CompressionCodec(r.Int32(kind))
		case 5:
			c.Values = r.Int64(kind)
		case 6:
			c.Uncompressed = r.Int64(kind)
		case 7:
			c.Compressed = r.Int64(kind)
		case 9:
			c.Data = r.Int64(kind)
		case 11:
			c.Dictionary = r.Int64(kind)
		case 12:
			c.Stats.read(r, kind)
		case 13:
			r.List(kind, func(kind byte) { c.encodingStats(r, kind) })
		}
	})
	r.Need(has, "the description of a chunk", 1, 2, 3, 4, 5, 6, 7, 9)
}

// encodingStats reads a PageEncodingStats.
func (c *Chunk) encodingStats(r *thrift.Reader, kind byte) {
	var page, encoding, count int32
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			page = r.Int32(kind)
		case 2:
			encoding = r.Int32(kind)
		case 3:
			count = r.Int32(kind)
		}
	})
	c.Told = true
	if page == int32(format.DictionaryPage) || count <= 0 {
		return
	}
	c.Runs = c.Runs || encoding == int32(format.RLE)
	c.Spelled = c.Spelled || encoding == int32(format.Plain)
}

// read reads Statistics.
func (s *Statistics) read(r *thrift.Reader, kind byte) {
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			s.Max = present(r.Text(kind))
		case 2:
			s.Min = present(r.Text(kind))
		case 3:
			s.Counted, s.Nulls = true, r.Int64(kind)
		case 5:
			s.MaxValue = present(r.Text(kind))
		case 6:
			s.MinValue = present(r.Text(kind))
		case 7:
			s.InexactMax = !r.Bool(kind)
		case 8:
			s.InexactMin = !r.Bool(kind)
		}
	})
}

// present is a bound that is there, even if it has no bytes.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
