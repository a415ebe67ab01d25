package lake

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/thrift"
)

// What is read of a footer. Nothing of it is larger in memory than a small multiple
// of its bytes, for a structure that lacks what it must have is refused where it
// stands. Byte slices are parts of the footer.

// thriftDepth bounds the nesting; a footer needs about ten.
const thriftDepth = 24

var (
	errShort     = thrift.ErrShort
	errMalformed = thrift.ErrMalformed
)

// fileMeta is FileMetaData.
type fileMeta struct {
	rows      int64
	schema    []element
	groups    []rowGroup
	writer    []byte
	orders    []bool // of the columns: whether there is one
	encrypted bool   // the footer is signed
}

// An element is a SchemaElement.
type element struct {
	name       string
	physical   format.Type // −1 of a group
	length     int32
	repetition int32 // −1 if it is missing
	children   int32
	converted  deprecated.ConvertedType // −1 if there is none
	scale      int32
	precision  int32
	logical    logical
	odd        int16 // the number of a field that nobody knows
}

// A logical is a LogicalType.
type logical struct {
	kind             int16 // the field of the union; 0 if there is none
	utc              bool
	unit             int16 // of time: the field of the union
	bits             int8
	signed           bool
	scale, precision int32
}

// The members of LogicalType and of TimeUnit.
const (
	logicalNone      = 0
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalNull      = 11
	logicalJSON      = 12
	logicalBSON      = 13
	logicalUUID      = 14
	logicalFloat16   = 15

	unitMillis = 1
	unitMicros = 2
	unitNanos  = 3
)

// A rowGroup is a RowGroup.
type rowGroup struct {
	rows   int64
	chunks []chunkMeta
}

// A chunkMeta is a ColumnChunk and its ColumnMetaData.
type chunkMeta struct {
	file         []byte // where the pages are, if not here
	encrypted    bool
	physical     format.Type
	codec        format.CompressionCodec
	plain, rle   bool // encodings of its pages
	told, runs   bool // there are counts of pages by encoding; some are data pages in RLE
	path         []byte
	depth        int // names in the path
	values       int64
	uncompressed int64
	compressed   int64
	data         int64 // offset of the first data page
	dictionary   int64 // offset of the dictionary page, 0 if there is none
	stats        chunkStats
}

// chunkStats is Statistics. Bounds that are not exact are bounds all the same.
type chunkStats struct {
	min, max           []byte // deprecated: in the order of signed integers
	minValue, maxValue []byte
	inexactMin         bool
	inexactMax         bool
	counted            bool // there is a number of nulls
	nulls              int64
}

// readMeta reads a footer and returns how many of its bytes it has.
func readMeta(b []byte) (*fileMeta, int, error) {
	r := thrift.NewReader(b, thriftDepth)
	m := new(fileMeta)
	seen := fields(0)
	r.Structure(thrift.Struct, func(id int16, kind byte) {
		seen.add(id)
		switch id {
		case 2:
			r.List(kind, func(kind byte) { m.schema = append(m.schema, readElement(r, kind)) })
		case 3:
			m.rows = r.Int64(kind)
		case 4:
			leaves := m.leaves()
			r.List(kind, func(kind byte) { m.groups = append(m.groups, readRowGroup(r, kind, leaves)) })
		case 6:
			m.writer = r.Text(kind)
		case 7:
			r.List(kind, func(kind byte) {
				known := false
				r.Structure(kind, func(id int16, kind byte) {
					known = known || id == 1
					r.Skip(kind)
				})
				m.orders = append(m.orders, known)
			})
		case 8:
			m.encrypted = true
			r.Skip(kind)
		default:
			r.Skip(kind)
		}
	})
	seen.need(r, "the footer", 2, 3, 4)
	return m, r.Read(), r.Err()
}

// leaves is how many columns the schema has.
func (m *fileMeta) leaves() int {
	n := 0
	for i := range m.schema {
		if m.schema[i].physical >= 0 {
			n++
		}
	}
	return n
}

// fields is a set of fields.
type fields uint64

func (f *fields) add(id int16) {
	if 0 <= id && id < 64 {
		*f |= 1 << id
	}
}

// need makes sure that a structure has fields.
func (f *fields) need(r *thrift.Reader, what string, ids ...int16) {
	for _, id := range ids {
		if *f>>id&1 == 0 {
			r.Failf("%s has no field %d", what, id)
		}
	}
}

// readElement reads a SchemaElement. Of one with a field that is unknown here nobody
// knows what its column means.
func readElement(r *thrift.Reader, kind byte) element {
	e := element{physical: -1, repetition: -1, converted: -1}
	seen := fields(0)
	r.Structure(kind, func(id int16, kind byte) {
		seen.add(id)
		switch id {
		case 1:
			if e.physical = format.Type(r.Int32(kind)); e.physical < 0 || e.physical > format.FixedLenByteArray {
				r.Failf("a column is stored as type %d", e.physical)
			}
		case 2:
			e.length = r.Int32(kind)
		case 3:
			if e.repetition = r.Int32(kind); e.repetition < 0 || e.repetition > int32(format.Repeated) {
				r.Failf("a column has repetition %d", e.repetition)
			}
		case 4:
			e.name = string(r.Text(kind))
		case 5:
			e.children = r.Int32(kind)
		case 6:
			if e.converted = deprecated.ConvertedType(r.Int32(kind)); e.converted < 0 {
				r.Failf("a column has converted type %d", e.converted)
			}
		case 7:
			e.scale = r.Int32(kind)
		case 8:
			e.precision = r.Int32(kind)
		case 9:
			r.Int32(kind)
		case 10:
			e.logical = readLogical(r, kind)
		default:
			e.odd = id
			r.Skip(kind)
		}
	})
	seen.need(r, "a schema element", 4)
	return e
}

// readLogical reads a LogicalType.
func readLogical(r *thrift.Reader, kind byte) logical {
	var l logical
	member := func(id int16, kind byte) {
		switch l.kind*16 + id {
		case logicalDecimal*16 + 1:
			l.scale = r.Int32(kind)
		case logicalDecimal*16 + 2:
			l.precision = r.Int32(kind)
		case logicalTime*16 + 1, logicalTimestamp*16 + 1:
			l.utc = r.Bool(kind)
		case logicalTime*16 + 2, logicalTimestamp*16 + 2:
			l.unit = readUnion(r, kind, func(_ int16, kind byte) { r.Structure(kind, func(_ int16, kind byte) { r.Skip(kind) }) })
		case logicalInteger*16 + 1:
			l.bits = r.Byte(kind)
		case logicalInteger*16 + 2:
			l.signed = r.Bool(kind)
		default:
			if l.kind <= logicalFloat16 { // others are not read
				r.Failf("a logical type %d with field %d", l.kind, id)
			}
			r.Skip(kind)
		}
	}
	readUnion(r, kind, func(id int16, kind byte) {
		if id < 1 {
			r.Failf("logical type %d", id)
		}
		l.kind = min(id, 1<<10)
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
func readRowGroup(r *thrift.Reader, kind byte, leaves int) rowGroup {
	var g rowGroup
	seen := fields(0)
	r.Structure(kind, func(id int16, kind byte) {
		seen.add(id)
		switch id {
		case 1:
			r.List(kind, func(kind byte) { g.chunks = append(g.chunks, readChunk(r, kind)) })
			if len(g.chunks) != leaves {
				r.Failf("a row group has %d columns, the schema %d", len(g.chunks), leaves)
			}
		case 3:
			g.rows = r.Int64(kind)
		default:
			r.Skip(kind)
		}
	})
	seen.need(r, "a row group", 1, 3)
	return g
}

// readChunk reads a ColumnChunk.
func readChunk(r *thrift.Reader, kind byte) chunkMeta {
	var c chunkMeta
	described := false
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			c.file = r.Text(kind)
		case 3:
			described = true
			c.describe(r, kind)
		case 8:
			c.encrypted = true
			r.Skip(kind)
		default:
			r.Skip(kind)
		}
	})
	if !described && !c.encrypted {
		r.Failf("a chunk without a description")
	}
	return c
}

// describe reads ColumnMetaData.
func (c *chunkMeta) describe(r *thrift.Reader, kind byte) {
	seen := fields(0)
	r.Structure(kind, func(id int16, kind byte) {
		seen.add(id)
		switch id {
		case 1:
			c.physical = format.Type(r.Int32(kind))
		case 2:
			r.List(kind, func(kind byte) {
				switch format.Encoding(r.Int32(kind)) {
				case format.Plain:
					c.plain = true
				case format.RLE:
					c.rle = true
				default:
				}
			})
		case 3:
			r.List(kind, func(kind byte) {
				c.path = r.Text(kind)
				c.depth++
			})
		case 4:
			c.codec = format.CompressionCodec(r.Int32(kind))
		case 5:
			c.values = r.Int64(kind)
		case 6:
			c.uncompressed = r.Int64(kind)
		case 7:
			c.compressed = r.Int64(kind)
		case 9:
			c.data = r.Int64(kind)
		case 11:
			c.dictionary = r.Int64(kind)
		case 12:
			c.stats.read(r, kind)
		case 13:
			r.List(kind, func(kind byte) { c.encodingStats(r, kind) })
		default:
			r.Skip(kind)
		}
	})
	seen.need(r, "the description of a chunk", 1, 2, 3, 4, 5, 6, 7, 9)
}

// encodingStats reads a PageEncodingStats.
func (c *chunkMeta) encodingStats(r *thrift.Reader, kind byte) {
	var page, encoding, count int32
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			page = r.Int32(kind)
		case 2:
			encoding = r.Int32(kind)
		case 3:
			count = r.Int32(kind)
		default:
			r.Skip(kind)
		}
	})
	c.told = true
	if page != int32(format.DictionaryPage) && encoding == int32(format.RLE) && count > 0 {
		c.runs = true
	}
}

// read reads Statistics.
func (s *chunkStats) read(r *thrift.Reader, kind byte) {
	r.Structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			s.max = present(r.Text(kind))
		case 2:
			s.min = present(r.Text(kind))
		case 3:
			s.counted, s.nulls = true, r.Int64(kind)
		case 5:
			s.maxValue = present(r.Text(kind))
		case 6:
			s.minValue = present(r.Text(kind))
		case 7:
			s.inexactMax = !r.Bool(kind)
		case 8:
			s.inexactMin = !r.Bool(kind)
		default:
			r.Skip(kind)
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

// footerFault is an error of a footer's bytes.
func footerFault(err error) error {
	if errors.Is(err, errShort) { // there are no more of them
		return fmt.Errorf("footer: %w: %w", err, errMalformed)
	}
	return fmt.Errorf("footer: %w", err)
}
