package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/mersenne"
)

// A dataset is a data set, by columns.
type dataset struct {
	Names   []string
	Columns [][]float64
}

// readDataset reads a data set, a file or a folder of files, with its columns in the order of
// its first file.
func readDataset(ctx context.Context, path string) (dataset, error) {
	files, _, err := lake.Files(ctx, []string{path})
	if err != nil {
		return dataset{}, err
	}
	var t dataset
	for _, c := range files[0].Columns {
		t.Names = append(t.Names, c.Name)
	}
	src, err := lake.Open(ctx, lake.Config{Paths: []string{path}, Features: t.Names})
	if err != nil {
		return dataset{}, err
	}
	t.Columns = make([][]float64, len(t.Names))
	for i := range src.Shards() {
		if err := t.readShard(ctx, src, i); err != nil {
			return dataset{}, err
		}
	}
	return t, nil
}

func (t *dataset) readShard(ctx context.Context, src *lake.Source, shard int) (err error) {
	batches, err := src.Open(ctx, shard)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batches.Close()) }()
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
			t.Columns[c] = append(t.Columns[c], floats.Float64Values()...)
		}
		record.Release()
	}
}

// rows is the number of rows.
func (t dataset) rows() int { return len(t.Columns[0]) }

// pick returns some rows.
func (t dataset) pick(rows []int) dataset {
	out := dataset{t.Names, make([][]float64, len(t.Columns))}
	for c, column := range t.Columns {
		out.Columns[c] = make([]float64, len(rows))
		for i, r := range rows {
			out.Columns[c][i] = column[r]
		}
	}
	return out
}

// split draws the split of a seed as the paper's experiments do: the first ⌈n/5⌉ entries of
// the permutation that numpy's RandomState(seed) makes are the test rows, and the others, in
// its order, those for training.
func (t dataset) split(seed int) (train, test []int) {
	order := mersenne.Permutation(t.rows(), uint64(seed)) //nolint:gosec // not negative
	cut := (len(order) + 4) / 5
	return order[cut:], order[:cut]
}
