package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/mersenne"
)

// A dataTable is a data set, by columns: the features, and last the target. All columns have
// mean 0 and deviation 1 over all rows, train and test, as in the published experiments.
type dataTable struct {
	names   []string
	columns [][]float64
}

// targets are the targets of the data sets.
var targets = map[string]string{"boston": "MEDV", "pol": "y", "kin40k": "y", "sarcos": "y", "snelson": "y"}

// readTable reads the files of a data set below a folder.
func readTable(ctx context.Context, data, name string) (dataTable, error) {
	path := filepath.Join(data, name)
	if name == "snelson" {
		path = filepath.Join(path, "train.parquet")
	}
	files, _, err := lake.Files(ctx, []string{path})
	if err != nil {
		return dataTable{}, err
	}
	var names []string
	for _, c := range files[0].Columns {
		if c.Name != targets[name] {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	names = append(names, targets[name])
	src, err := lake.Open(ctx, lake.Config{Paths: []string{path}, Features: names})
	if err != nil {
		return dataTable{}, err
	}
	t := dataTable{names, make([][]float64, len(names))}
	for i := range src.Shards() {
		if err := t.readShard(ctx, src, i); err != nil {
			return dataTable{}, err
		}
	}
	return t, t.standardise()
}

func (t *dataTable) readShard(ctx context.Context, src *lake.Source, shard int) (err error) {
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
			t.columns[c] = append(t.columns[c], floats.Float64Values()...)
		}
		record.Release()
	}
}

// standardise scales all columns, and leaves out those of one value.
func (t *dataTable) standardise() error {
	kept := dataTable{}
	for i, column := range t.columns {
		mean, square := 0.0, 0.0
		for _, v := range column {
			mean += v / float64(len(column))
		}
		for _, v := range column {
			square += (v - mean) * (v - mean) / float64(len(column))
		}
		if square == 0 {
			continue
		}
		for j := range column {
			column[j] = (column[j] - mean) / math.Sqrt(square)
		}
		kept.names, kept.columns = append(kept.names, t.names[i]), append(kept.columns, column)
	}
	if len(kept.names) == 0 || kept.names[len(kept.names)-1] != t.names[len(t.names)-1] {
		return errors.New("the target has one value")
	}
	*t = kept
	return nil
}

func (t dataTable) rows() int { return len(t.columns[0]) }

// pick returns some rows.
func (t dataTable) pick(rows []int) dataTable {
	out := dataTable{t.names, make([][]float64, len(t.columns))}
	for c, column := range t.columns {
		out.columns[c] = make([]float64, len(rows))
		for i, r := range rows {
			out.columns[c][i] = column[r]
		}
	}
	return out
}

// split draws the split of a repetition: the first ⌈n/5⌉ entries of the permutation that
// numpy's RandomState(seed) makes are the test rows.
func (t dataTable) split(seed int) (train, test dataTable) {
	order := mersenne.Permutation(t.rows(), uint64(seed)) //nolint:gosec // not negative
	cut := (len(order) + 4) / 5
	return t.pick(order[cut:]), t.pick(order[:cut])
}
