package sink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
