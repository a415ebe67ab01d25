package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A table is a Parquet file of the tests: columns by name, each a []float64, an
// []int64, a []string, or a []any of float64 and nil for nulls.
type table map[string]any

// write writes the table as a file of one row group.
func (c table) write(t *testing.T, path string) {
	t.Helper()
	writeFile(t, path, c.bytes(t))
}

func (c table) bytes(t *testing.T) []byte {
	t.Helper()
	group := parquet.Group{}
	for name, values := range c {
		switch values.(type) {
		case []float64:
			group[name] = parquet.Leaf(parquet.DoubleType)
		case []int64:
			group[name] = parquet.Int(64)
		case []any:
			group[name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		case []string:
			group[name] = parquet.String()
		default:
			t.Fatalf("column %q: %T", name, values)
		}
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[any](&out, parquet.NewSchema("rows", group))
	writers := w.ColumnWriters()
	for j, field := range group.Fields() {
		values := cells(c[field.Name()], j)
		if len(values) == 0 { // the library reads the first value
			continue
		}
		if _, err := writers[j].WriteRowValues(values); err != nil {
			t.Fatal(err)
		}
	}
	fatal.If(t, w.Close())
	return out.Bytes()
}

// cells are the values of column j.
func cells(values any, j int) (cells []parquet.Value) {
	switch values := values.(type) {
	case []float64:
		for _, v := range values {
			cells = append(cells, parquet.DoubleValue(v).Level(0, 0, j))
		}
	case []int64:
		for _, v := range values {
			cells = append(cells, parquet.Int64Value(v).Level(0, 0, j))
		}
	case []string:
		for _, v := range values {
			cells = append(cells, parquet.ByteArrayValue([]byte(v)).Level(0, 0, j))
		}
	case []any:
		for _, v := range values {
			if v, ok := v.(float64); ok {
				cells = append(cells, parquet.DoubleValue(v).Level(0, 1, j))
			} else {
				cells = append(cells, parquet.NullValue().Level(0, 0, j))
			}
		}
	}
	return cells
}

// lines are n rows of y = x1 + 2·x2 on a lattice, as columns x1, x2, y.
func lines(n int) table {
	x1, x2, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		x1[i], x2[i] = float64(i%29), float64(i%31) // no row is the copy of one before it
		y[i] = x1[i] + 2*x2[i]
	}
	return table{"x1": x1, "x2": x2, "y": y}
}

// with returns the table with another column instead of one.
func (c table) with(name string, values any) table {
	changed := table{name: values}
	for other, v := range c {
		if other != name {
			changed[other] = v
		}
	}
	return changed
}

// slice returns rows [from, to) of a table of numbers.
func (c table) slice(from, to int) table {
	part := table{}
	for name, values := range c {
		part[name] = values.([]float64)[from:to]
	}
	return part
}

// lakeFile is the path of the i-th file of a lake that a test writes in dir.
func lakeFile(dir string, i int) string {
	return filepath.Join(dir, "lake", fmt.Sprintf("part-%02d.parquet", i))
}
