package lake_test

import (
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/score/scoretest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// Predictions of files are there once.
func TestPredictionsContract(t *testing.T) {
	type columns = score.Columns[parquet.Node, parquet.Value]
	folder := t.TempDir()
	about, _, err := lake.ReadAbout(t.Context(), durable.OS{}, folder)
	fatal.If(t, err)
	open := func(t *testing.T) (scoretest.FileWriter[columns], func()) {
		d, err := lake.Open(folder, nil)
		fatal.If(t, err)
		return &lake.Predictions{FS: durable.OS{}, Folder: folder, About: about}, func() {
			fatal.If(t, d.Close())
		}
	}
	extra := func(rows int) columns {
		kept := make([]parquet.Value, rows)
		for i := range kept {
			kept[i] = parquet.Int64Value(int64(i))
		}
		return columns{Names: []string{"id"}, Types: []parquet.Node{parquet.Int(64)}, Values: [][]parquet.Value{kept}}
	}
	scoretest.TestFileWriter(t, open, extra, func(t *testing.T, f score.File) (numbers []int64) {
		has, err := (&lake.Predictions{FS: durable.OS{}, Folder: folder, About: about}).Has(f)
		if err != nil || !has {
			return nil
		}
		rows, err := parquet.ReadFile[struct {
			Row int64  `parquet:"row"`
			ID  *int64 `parquet:"id,optional"`
		}](lake.PredictionsOf(folder, f))
		fatal.If(t, err)
		for _, r := range rows {
			if numbers = append(numbers, r.Row); *r.ID != r.Row {
				t.Errorf("next to row %d stands %d", r.Row, *r.ID)
			}
		}
		return numbers
	})
}
