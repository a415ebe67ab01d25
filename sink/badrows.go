package sink

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// BadRows writes rows that break a row rule as Parquet, so that they can be found and
// mended: in which file or topic (in), row group or partition (part) and row or offset (row) they
// stand, the first bad column, the reason for all of them, and in the group values the
// row's columns as float64, null where they are bad.
//
// It is for one goroutine at a time.
type BadRows struct {
	w       *parquet.GenericWriter[any]
	columns []string
	leaf    map[string]int // place of a column among the leaves of the schema
	row     parquet.Row
	n       int
}

// NewBadRows starts a file with these columns.
func NewBadRows(w io.Writer, columns []string) *BadRows {
	values := parquet.Group{}
	for _, name := range columns {
		values[name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	schema := parquet.NewSchema("bad_rows", parquet.Group{
		"in": parquet.String(), "part": parquet.Leaf(parquet.Int32Type), "row": parquet.Leaf(parquet.Int64Type),
		"column": parquet.String(), "reason": parquet.String(), "values": values,
	})
	b := &BadRows{
		w:       parquet.NewGenericWriter[any](w, schema, parquet.CreatedBy("pacsgp", "1", ""), parquet.Compression(&parquet.Zstd)),
		columns: slices.Clone(columns), leaf: map[string]int{},
	}
	for i, path := range schema.Columns() {
		b.leaf[path[len(path)-1]] = i
		if len(path) == 1 {
			delete(b.leaf, path[0])
			b.leaf["."+path[0]] = i // no column's name: those stand in the group
		}
	}
	b.row = make(parquet.Row, len(schema.Columns()))
	return b
}

// Write appends a row of a shard. It keeps nothing of it.
func (b *BadRows) Write(shard pipeline.Shard, r pipeline.BadRow) error {
	set := func(name string, v parquet.Value, definition int) {
		i := b.leaf[name]
		b.row[i] = v.Level(0, definition, i)
	}
	column := ""
	for i, v := range r.Values {
		switch name := b.columns[i]; {
		case math.IsNaN(v) || math.IsInf(v, 0):
			set(name, parquet.NullValue(), 0)
			if column == "" {
				column = name
			}
		default:
			set(name, parquet.DoubleValue(v), 1)
		}
	}
	set(".in", parquet.ByteArrayValue([]byte(shard.Place.In)), 0)
	set(".part", parquet.Int32Value(int32(shard.Place.Part)), 0) //nolint:gosec // a row group's number
	set(".row", parquet.Int64Value(shard.Place.At+r.Row), 0)
	set(".column", parquet.ByteArrayValue([]byte(column)), 0)
	set(".reason", parquet.ByteArrayValue([]byte(r.Reason)), 0)
	if _, err := b.w.WriteRows([]parquet.Row{b.row}); err != nil {
		return fmt.Errorf("sink: write bad rows: %w", err)
	}
	if b.n++; b.n%groupRows == 0 {
		if err := b.w.Flush(); err != nil {
			return fmt.Errorf("sink: write bad rows: %w", err)
		}
	}
	return nil
}

// Close writes the footer. It does not close the writer beneath.
func (b *BadRows) Close() error {
	if err := b.w.Close(); err != nil {
		return fmt.Errorf("sink: write bad rows: %w", err)
	}
	return nil
}
