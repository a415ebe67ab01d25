package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/mersenne"
)

// A split keeps a fifth of the rows of a set apart.
type split struct{ apart []bool }

// splitRows draws the split of a seed: the first ⌈n/5⌉ entries of the
// permutation that numpy's RandomState(seed) makes are kept apart, as in the
// paper's experiments.
func splitRows(ctx context.Context, data string, seed int) (*split, error) {
	files, _, err := lake.Files(ctx, []string{data})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, f := range files {
		n += int(f.Rows)
	}
	s := &split{make([]bool, n)}
	for _, i := range mersenne.Permutation(n, uint64(seed))[:(n+4)/5] { //nolint:gosec // not negative
		s.apart[i] = true
	}
	return s, nil
}

// write writes the rows of one part as a lake of one file.
func (s *split) write(ctx context.Context, data, dir string, apart bool) (err error) {
	files, _, err := lake.Files(ctx, []string{data})
	if err != nil {
		return err
	}
	var names []string
	for _, c := range files[0].Columns {
		names = append(names, c.Name)
	}
	src, err := lake.Open(ctx, lake.Config{Paths: []string{data}, Features: names})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are for everybody to read
		return err
	}
	file, err := os.Create(filepath.Join(dir, "rows.parquet")) //nolint:gosec // below the work folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	group := parquet.Group{}
	for _, name := range names {
		group[name] = parquet.Leaf(parquet.DoubleType)
	}
	schema := parquet.NewSchema("rows", group)
	writer := parquet.NewGenericWriter[any](file, schema, parquet.Compression(&parquet.Zstd))
	place := make([]int, len(names)) // the writer's column of each name: a group sorts its names
	for i, name := range names {
		place[i] = slices.Index(slices.Sorted(slices.Values(names)), name)
	}
	for i := range src.Shards() {
		if err := s.writeShard(ctx, src, i, writer, place, apart); err != nil {
			return err
		}
	}
	return writer.Close()
}

func (s *split) writeShard(ctx context.Context, src *lake.Source, shard int, w *parquet.GenericWriter[any], place []int, apart bool) (err error) {
	batches, err := src.Open(ctx, shard)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batches.Close()) }()
	row := int(src.Shards()[shard].First)
	for {
		record, err := batches.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for c, column := range record.Columns() {
			floats, ok := column.(*array.Float64)
			if !ok {
				return fmt.Errorf("column %s is %s", record.ColumnName(c), column.DataType())
			}
			var values []parquet.Value
			for i, v := range floats.Float64Values() {
				if s.apart[row+i] == apart {
					values = append(values, parquet.DoubleValue(v).Level(0, 0, place[c]))
				}
			}
			if _, err := w.ColumnWriters()[place[c]].WriteRowValues(values); err != nil {
				return err
			}
		}
		row += int(record.NumRows())
		record.Release()
	}
}
