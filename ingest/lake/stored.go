package lake

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/words"
)

// Stored reads columns of one file, of any flat type, without converting their values.
type Stored struct {
	file    *dataFile
	columns []StoredColumn
	most    int64 // bytes of a page

	open  objects.File                      // nil: no column is read
	known kept                              // its footer
	group int                               // index of the next row group
	left  int64                             // rows that are left of the current one
	cells []func(dst []parquet.Value) error // of the current one, by column: each reads the next values
	out   [][]parquet.Value
}

// A StoredColumn is a column with its type in the schema of a Parquet file. Types of Arrow are mapped to one.
type StoredColumn struct {
	Name string
	Node parquet.Node // values may be null

	column *column
}

// leastStored is the size of a page that is allowed in any case.
const leastStored = 16 << 20

// OpenStored opens columns of the file at path. A key in the path is a text. limit bounds the bytes of a page in
// memory. Columns that are not flat, of an uncertain type, or of a repeated name are errors.
func OpenStored(ctx context.Context, path string, names []string, limit int64) (*Stored, error) {
	from := objects.NewView()
	files, _, err := listWithFooters(ctx, from, []string{path}, nil)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%s: want one file, it is %d", path, len(files))
	}
	s := &Stored{file: files[0], known: kept{file: files[0]}, most: max(limit, leastStored), cells: make([]func([]parquet.Value) error, len(names)), out: make([][]parquet.Value, len(names))}
	if len(names) == 0 {
		return s, nil
	}
	if s.open, err = from.Open(ctx, path); err != nil {
		return nil, err
	}
	if err := s.known.read(s.open); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.Close())
	}
	for _, name := range names {
		switch err := s.add(name); {
		case err != nil && s.file.Rows == 0:
			s.columns = append(s.columns, StoredColumn{Name: name, Node: parquet.String()})
		case err != nil:
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Stored) add(name string) error {
	path := s.file.Path
	at, ok := s.file.positions[name]
	if !ok {
		return errors.New(ingest.NoColumn(tables([]*dataFile{s.file})[0], name))
	}
	if n, key := s.file.named(name); n > 1 {
		of := words.If(key, ", one of them a key of its path")
		return fmt.Errorf("%s has %d columns named %q%s; rename or remove all but one", path, n, name, of)
	}
	c := &s.file.columns[at]
	node, err := s.node(c)
	if err != nil {
		return fmt.Errorf("%s, column %q: %w", path, name, err)
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
		for c, read := range s.cells {
			if err := guard(func() error { return read(s.out[c][at : at+k]) }); err != nil {
				return nil, s.fault(c, err)
			}
		}
		at += k
		s.left -= int64(k)
	}
	return s.out, nil
}

func (s *Stored) fault(c int, err error) error {
	return fmt.Errorf("%s, row group %d, column %q: %w", s.file.Path, s.file.groups[s.group-1].index, s.columns[c].Name, err)
}

func (s *Stored) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.group == len(s.file.groups) {
		return fmt.Errorf("%s: it has no more than its %d rows", s.file.Path, s.file.Rows)
	}
	g := s.file.groups[s.group]
	s.group, s.left = s.group+1, g.rows
	var record arrow.Record
	for c, column := range s.columns {
		switch {
		case column.column.leaf < 0:
			var value parquet.Value // null
			if text := s.file.text(column.Name); text != nullKey {
				value = parquet.ByteArrayValue([]byte(text))
			}
			s.cells[c] = func(dst []parquet.Value) error {
				for i := range dst {
					dst[i] = value
				}
				return nil
			}
		case s.file.arrow:
			if record == nil {
				err := guard(func() (err error) {
					record, err = s.known.arrow.Read(s.open, g.batch)
					return err
				})
				if err != nil {
					return s.fault(c, err)
				}
			}
			cells, err := storedArray(record.Column(column.column.leaf), column.column, g.rows)
			if err != nil {
				return s.fault(c, err)
			}
			s.cells[c] = cells
		default:
			ch, err := s.known.foot.storedChunk(g.index, column.column)
			if err != nil {
				return s.fault(c, err)
			}
			s.cells[c] = storedReader(s.open, column.column, ch, s.most)
		}
	}
	return nil
}

// node returns the type of a column in the schema of a Parquet file. Texts have a dictionary, which their
// writer ends where it does not pay.
func (s *Stored) node(c *column) (node parquet.Node, err error) {
	switch {
	case c.leaf < 0:
		node = parquet.String()
	case s.file.arrow:
		if node, err = c.node(); err != nil {
			err = fmt.Errorf("%w: it is %s", ErrNotKept, c.Type)
		}
	case c.refused != "":
		err = errors.New(c.refused)
	default:
		node, err = c.node()
	}
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
