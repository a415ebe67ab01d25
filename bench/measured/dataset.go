package measured

import (
	"context"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A Dataset is a data set in memory, column by column. All columns have the same length.
type Dataset struct {
	Names   []string
	Columns [][]float64
}

// ReadDataset reads a data set from a file or from a folder of files. The columns are in the order of the first file.
func ReadDataset(ctx context.Context, path string) (Dataset, error) {
	files, _, err := lake.Files(ctx, []string{path})
	if err != nil {
		return Dataset{}, err
	}
	var t Dataset
	for _, c := range files[0].Columns {
		t.Names = append(t.Names, c.Name)
	}
	src, err := lake.Open(ctx, lake.Config{Paths: []string{path}, Choice: dataset.Choice{Features: t.Names}})
	if err != nil {
		return Dataset{}, err
	}
	t.Columns = make([][]float64, len(t.Names))
	return t, dataset.Stream(ctx, src, nil, 1, func(b dataset.Block) error {
		for c, column := range b.Columns {
			t.Columns[c] = append(t.Columns[c], column...)
		}
		return nil
	})
}

// Rows returns the number of rows.
func (t Dataset) Rows() int { return len(t.Columns[0]) }

// Pick returns a copy of the rows with these indices.
func (t Dataset) Pick(rows []int) Dataset {
	out := Dataset{t.Names, make([][]float64, len(t.Columns))}
	for c, column := range t.Columns {
		out.Columns[c] = make([]float64, len(rows))
		for i, r := range rows {
			out.Columns[c][i] = column[r]
		}
	}
	return out
}
