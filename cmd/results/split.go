package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/cmd/internal/dataset"
	"github.com/pacsgp/pacsgp/internal/durable"
)

// splitRows draws the split of a seed, both parts in the order of the set.
func splitRows(t dataset.Table, seed int) (train, fresh dataset.Table) {
	in, apart := t.Split(seed)
	slices.Sort(in)
	slices.Sort(apart)
	return t.Pick(in), t.Pick(apart)
}

// writeLake writes rows as a lake of one file.
func writeLake(t dataset.Table, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are for everybody to read
		return err
	}
	file, err := durable.Create(durable.OS{}, filepath.Join(dir, "rows.parquet"))
	if err != nil {
		return err
	}
	defer file.Abort()
	group := parquet.Group{}
	for _, name := range t.Names {
		group[name] = parquet.Leaf(parquet.DoubleType)
	}
	writer := parquet.NewGenericWriter[any](file, parquet.NewSchema("rows", group), parquet.Compression(&parquet.Zstd))
	sorted := slices.Sorted(slices.Values(t.Names)) // as a group has its columns
	for c, column := range t.Columns {
		place := slices.Index(sorted, t.Names[c])
		values := make([]parquet.Value, len(column))
		for i, v := range column {
			values[i] = parquet.DoubleValue(v).Level(0, 0, place)
		}
		if _, err := writer.ColumnWriters()[place].WriteRowValues(values); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return file.Commit()
}
