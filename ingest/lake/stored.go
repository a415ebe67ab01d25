package lake

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/objects"
)

// Stored reads columns of one file, of any flat type, without converting their values.
type Stored struct {
	store   *objects.View
	file    *dataFile
	columns []StoredColumn
	most    int64 // bytes of a page
	cache   footerCache

	open  objects.File
	group int           // index of the next row group
	left  int64         // rows that are left of the current one
	cells []storedCells // of the current one, by column
	out   [][]parquet.Value
}

// A StoredColumn is a column with its type in the schema of a Parquet file. Types of Arrow are
// mapped to one.
type StoredColumn struct {
	Name string
	Node parquet.Node // values may be null

	column *column
}

// storedCells are the values of a column in a row group.
type storedCells interface {
	// read reads the next len(dst) values.
	read(dst []parquet.Value) error
	// finish returns an error if there are more.
	finish() error
}

// leastStored is the size of a page that is allowed in any case.
const leastStored = 16 << 20

// OpenStored opens columns of the file at path. A key in the path is a text. most bounds the
// bytes of a page in memory. Columns that are not flat, of an uncertain type, or of a repeated name
// are errors.
func OpenStored(ctx context.Context, path string, names []string, most int64) (*Stored, error) {
	from := objects.NewView()
	files, _, err := listWithFooters(ctx, from, []string{path})
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("lake: %s: want one file, it is %d", path, len(files))
	}
	s := &Stored{store: from, file: files[0], most: max(most, leastStored), cells: make([]storedCells, len(names)), out: make([][]parquet.Value, len(names))}
	for _, name := range names {
		switch err := s.add(ctx, name); {
		case err != nil && s.file.Rows == 0:
			s.columns = append(s.columns, StoredColumn{Name: name, Node: parquet.String()})
		case err != nil:
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Stored) add(ctx context.Context, name string) error {
	path := s.file.Path
	at, ok := s.file.positions[name]
	if !ok {
		return fmt.Errorf("lake: %s has no column %q", path, name)
	}
	if n, key := s.file.named(name); n > 1 {
		of := ""
		if key {
			of = ", one of them a key of its path"
		}
		return fmt.Errorf("lake: %s has %d columns named %q%s; rename or remove all but one", path, n, name, of)
	}
	c := &s.file.columns[at]
	node, err := s.node(ctx, c)
	if err != nil {
		return fmt.Errorf("lake: %s, column %q: %w", path, name, err)
	}
	s.columns = append(s.columns, StoredColumn{Name: name, Node: node, column: c})
	return nil
}

// Columns returns the columns in the order of the names given to OpenStored.
func (s *Stored) Columns() []StoredColumn { return s.columns }

// Next returns the next n values of each column. The slices are valid until the next call; the
// bytes of values remain valid.
func (s *Stored) Next(ctx context.Context, n int) ([][]parquet.Value, error) {
	for c := range s.out {
		if cap(s.out[c]) < n {
			s.out[c] = make([]parquet.Value, n)
		}
		s.out[c] = s.out[c][:n]
	}
	for at := 0; at < n && len(s.columns) > 0; {
		if s.left == 0 {
			if err := s.begin(ctx); err != nil {
				return nil, err
			}
		}
		k := int(min(int64(n-at), s.left))
		for c, cells := range s.cells {
			if err := guard(func() error { return cells.read(s.out[c][at : at+k]) }); err != nil {
				return nil, s.fault(c, err)
			}
		}
		at += k
		if s.left -= int64(k); s.left > 0 {
			continue
		}
		for c, cells := range s.cells {
			if err := guard(cells.finish); err != nil {
				return nil, s.fault(c, err)
			}
		}
	}
	return s.out, nil
}

func (s *Stored) fault(c int, err error) error {
	return fmt.Errorf("lake: %s, row group %d, column %q: %w", s.file.Path, s.file.groups[s.group-1].index, s.columns[c].Name, err)
}

func (s *Stored) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.group == len(s.file.groups) {
		return fmt.Errorf("lake: %s: it has no more than its %d rows", s.file.Path, s.file.Rows)
	}
	g := s.file.groups[s.group]
	s.group, s.left = s.group+1, g.rows
	known, err := s.footer(ctx)
	if err != nil {
		return fmt.Errorf("lake: %s: %w", s.file.Path, err)
	}
	var record arrow.Record
	for c, column := range s.columns {
		switch {
		case column.column.leaf < 0:
			s.cells[c] = storedConstant{} // null
			if text, ok := s.file.text(column.Name); ok {
				s.cells[c] = storedConstant(parquet.ByteArrayValue([]byte(text)))
			}
		case s.file.arrow:
			if record == nil {
				err := guard(func() (err error) {
					record, err = known.arrow.Read(s.open, g.batch)
					return err
				})
				if err != nil {
					return s.fault(c, err)
				}
			}
			s.cells[c] = &storedArray{of: record.Column(column.column.leaf), rows: g.rows}
		default:
			ch, err := known.foot.storedChunk(g.index, column.column)
			if err != nil {
				return s.fault(c, err)
			}
			s.cells[c] = newStoredCursor(ahead(s.open, []chunk{ch})[0], column.column, ch, s.most)
		}
	}
	return nil
}

// footer returns the footer of the file, which it opens and keeps open.
func (s *Stored) footer(ctx context.Context) (kept, error) {
	if s.open == nil {
		var err error
		if s.open, err = s.store.Open(ctx, s.file.Path); err != nil {
			return kept{}, err
		}
	}
	return s.cache.find(s.file, s.open)
}

// node returns the type of a column in the schema of a Parquet file.
func (s *Stored) node(ctx context.Context, c *column) (parquet.Node, error) {
	switch {
	case c.leaf < 0:
		return indexed(parquet.String(), nil)
	case !s.file.arrow && c.refused != "":
		return nil, errors.New(c.refused)
	}
	if s.file.arrow {
		known, err := s.footer(ctx)
		if err != nil {
			return nil, err
		}
		return indexed(arrowNode(known.arrow.Schema.Field(c.leaf).Type))
	}
	return indexed(c.node())
}

// indexed encodes texts with a dictionary, which their writer ends where it does not pay.
func indexed(node parquet.Node, err error) (parquet.Node, error) {
	if err != nil || node.Type().Kind() != parquet.ByteArray {
		return node, err
	}
	return parquet.Encoded(node, &parquet.RLEDictionary), nil
}

// Close closes the file.
func (s *Stored) Close() error {
	if s.open == nil {
		return nil
	}
	err := s.open.Close()
	s.open = nil
	return err
}

// named returns the number of columns of a name, and whether a key of the path is among them.
func (f *dataFile) named(name string) (n int, key bool) {
	for i := range f.columns {
		if c := &f.columns[i]; c.Name == name {
			n++
			key = key || c.leaf < 0
		}
	}
	return n, key
}

// text returns the value of a key in the path; false for null.
func (f *dataFile) text(name string) (string, bool) {
	for _, k := range f.keys {
		if k.name == name {
			return k.value, k.value != nullKey
		}
	}
	return "", false
}

// A storedConstant is the value of a key in the path, for all rows.
type storedConstant parquet.Value

func (v storedConstant) read(dst []parquet.Value) error {
	for i := range dst {
		dst[i] = parquet.Value(v)
	}
	return nil
}

func (storedConstant) finish() error { return nil }
