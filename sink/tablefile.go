package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// Model files and certificate rows are Parquet of one plain kind: flat columns or lists,
// encoding PLAIN, not compressed. Anybody may have made them: the seal detects damage, not
// forgery. The Parquet library allocates the sizes that a file claims; the memory of this reader
// is proportional to the bytes of the file.

// A node is an element of a schema, with the properties that this package fixes.
type node struct {
	name       string
	physical   format.Type // physicalNone for a group
	repetition format.FieldRepetitionType
	children   int32
}

// physicalNone is the type of a group.
const physicalNone = format.Type(-1)

func (n node) String() string {
	if n.physical == physicalNone {
		return fmt.Sprintf("%v group %.40q of %d", n.repetition, n.name, n.children)
	}
	return fmt.Sprintf("%v %.40q of type %d", n.repetition, n.name, n.physical)
}

// nodesOf returns the elements of a schema below its root, depth first.
func nodesOf(of parquet.Node) (nodes []node) {
	for _, field := range of.Fields() {
		n := node{name: field.Name(), physical: physicalNone}
		if field.Optional() {
			n.repetition = format.Optional
		} else if field.Repeated() {
			n.repetition = format.Repeated
		}
		if field.Leaf() {
			n.physical = format.Type(field.Type().Kind())
			nodes = append(nodes, n)
			continue
		}
		n.children = int32(len(field.Fields()))
		nodes = append(append(nodes, n), nodesOf(field)...)
	}
	return nodes
}

// A tableFile is a Parquet file with its footer read.
type tableFile struct {
	data   []byte // without the footer
	end    int64  // where the footer begins
	rows   int64
	schema []node // below the root, depth first
	groups []parquetmeta.RowGroup
	keys   map[string]string
}

// maxFooter bounds a footer: the metadata, and some hundred bytes for each row group of a
// million values.
const maxFooter = maxMetadata + 1<<20

// openTable reads the footer of a file with the given schema.
func openTable(data []byte, schema []node) (*tableFile, error) {
	if !isParquet(data) {
		return nil, errors.New("it is no Parquet file")
	}
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
	footer, err := parquetmeta.Footer(r, size, maxFooter)
	if err != nil {
		return nil, err
	}
	f := &tableFile{end: size - parquetmeta.TailLength - int64(len(footer)), keys: map[string]string{}}
	meta, n, err := parquetmeta.Read(footer)
	if err == nil && n != len(footer) {
		err = fmt.Errorf("%d bytes follow", len(footer)-n)
	}
	if err == nil {
		err = f.keep(meta)
	}
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	return f, nil
}

// keep keeps the used parts of a footer. A key with two values is an error: readers would not agree
// on one.
func (f *tableFile) keep(meta *parquetmeta.File) error {
	if len(meta.Schema) == 0 {
		return errors.New("no schema")
	}
	for _, e := range meta.Schema[1:] {
		if e.Name == "" && e.Physical != physicalNone {
			return errors.New("a column without a name")
		}
		f.schema = append(f.schema, node{e.Name, e.Physical, format.FieldRepetitionType(e.Repetition), e.Children})
	}
	for _, kv := range meta.Keys {
		key := string(kv.Key)
		if _, ok := f.keys[key]; ok {
			return fmt.Errorf("the key %.40q has two values", key)
		}
		f.keys[key] = string(kv.Value)
	}
	f.rows, f.groups = meta.Rows, meta.Groups
	return nil
}

// check compares the footer with its schema and with the size of the file.
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
		if len(g.Chunks) != len(leaves) {
			return fmt.Errorf("a row group has %d columns, the schema %d", len(g.Chunks), len(leaves))
		}
		if g.Rows < 0 || g.Rows > int64(len(f.data)) { // every row has more than a byte
			return fmt.Errorf("a row group claims %d rows of %d bytes", g.Rows, len(f.data))
		}
		rows += g.Rows
		for i, c := range g.Chunks {
			switch {
			case len(c.File) > 0, c.Encrypted, c.Physical != leaves[i].physical:
				return fmt.Errorf("column %d is stored in another way", i)
			case c.Codec != format.Uncompressed:
				return fmt.Errorf("column %d is compressed; a file of this kind is not", i)
			case c.Dictionary > 0:
				return errDictionary
			case c.Data < int64(len(parquetmeta.Magic)) || c.Compressed < 0 || c.Data > int64(len(f.data)) || c.Compressed > int64(len(f.data))-c.Data:
				return fmt.Errorf("column %d claims %d bytes at %d of %d", i, c.Compressed, c.Data, len(f.data))
			}
			if left -= c.Compressed; left < 0 {
				return fmt.Errorf("its columns claim more than its %d bytes", len(f.data))
			}
		}
	}
	if rows != f.rows {
		return fmt.Errorf("it claims %d rows, its row groups %d", f.rows, rows)
	}
	return nil
}
