package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
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
	var rows []map[string]any
	for name, values := range c {
		for i, v := range reflect.ValueOf(values).Seq2() {
			if int(i.Int()) == len(rows) {
				rows = append(rows, map[string]any{})
			}
			rows[i.Int()][name] = v.Interface()
			if number, ok := reflect.TypeAssert[float64](v); ok && v.Kind() == reflect.Interface {
				rows[i.Int()][name] = &number // the library takes an optional 0 for a null
			}
		}
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[map[string]any](&out, parquet.NewSchema("rows", group))
	_, err := w.Write(rows)
	fatal.If(t, errors.Join(err, w.Close()))
	return out.Bytes()
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
	changed := maps.Clone(c)
	changed[name] = values
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
