package lake_test

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// columnRef reads a column of a file value by value with parquet-go's own
// reader: slow, and another implementation than ours. Nulls are NaN.
func columnRef(t *testing.T, path, name string) (values []float64) {
	t.Helper()
	stored, _ := storedRef(t, path, name)
	for _, v := range stored {
		values = append(values, valueRef(v))
	}
	return values
}

func valueRef(v parquet.Value) float64 {
	switch {
	case v.IsNull():
		return math.NaN()
	case v.Kind() == parquet.Double:
		return v.Double()
	case v.Kind() == parquet.Float:
		return float64(v.Float())
	case v.Kind() == parquet.Int32:
		return float64(v.Int32())
	case v.Kind() == parquet.Int64:
		return float64(v.Int64())
	default:
		return math.Inf(1)
	}
}

// readMarked reads all rows of a source marked, and counts bad ones.
func readMarked(t *testing.T, src *lake.Source) (columns [][]float64, bad int) {
	t.Helper()
	columns = make([][]float64, len(src.Columns()))
	for i := range src.Shards() {
		_, err := pipelinetest.Each(t.Context(), src, i, func(record arrow.Record) {
			for j := range columns {
				columns[j] = append(columns[j], record.Column(j).(*array.Float64).Float64Values()...)
			}
			reasons := record.Column(len(columns))
			bad += reasons.Len() - reasons.NullN()
		})
		fatal.If(t, err)
	}
	return columns, bad
}

func sameCell(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// The real data: what parquet-go reads, cell for cell, and the numbers of rows
// of the collection's README.
func TestRealData(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a million rows twice")
	}
	for _, c := range []struct {
		folder, target string
		rows, shards   int
		bad            int // rows with a null, counted with pyarrow
	}{
		{"beijing_air", "PM2.5", 420768, 60, 37183},
		{"hflights", "ArrDelay", 227496, 26, 3622},
		{"flights", "delay", 200000, 4, 0},
		{"kin40k", "y", 40000, 8, 0},
		{"pol", "y", 15000, 3, 0},
		{"boston", "MEDV", 506, 1, 0},
	} {
		t.Run(c.folder, func(t *testing.T) {
			src := open(t, lake.Config{Paths: []string{fatal.Data(t, c.folder)}, Choice: dataset.Choice{Target: c.target, Mark: true, Decoders: 9}})
			got, bad := readMarked(t, src)
			if len(got[0]) != c.rows || len(src.Shards()) != c.shards || bad != c.bad {
				t.Errorf("%d rows in %d shards, %d bad, want %d in %d, %d", len(got[0]), len(src.Shards()), bad, c.rows, c.shards, c.bad)
			}
			for j, name := range src.Columns() {
				if name == "month" && c.folder == "hflights" { // the folder's key
					if i := slices.Index(src.Columns(), "Month"); !slices.Equal(got[j], got[i]) {
						t.Error("the key month differs from the column Month")
					}
					continue
				}
				var want []float64
				for _, f := range src.Files() {
					want = append(want, columnRef(t, f.Path, name)...)
				}
				if !slices.EqualFunc(got[j], want, sameCell) {
					t.Errorf("column %q differs from what parquet-go reads", name)
				}
			}
		})
	}
}
