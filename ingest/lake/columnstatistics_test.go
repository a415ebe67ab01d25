package lake_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

type nullsRow struct {
	Some *float64 `parquet:"some,optional"`
	All  *float64 `parquet:"all,optional"`
	None *float64 `parquet:"none,optional"`
	Must float64  `parquet:"must"`
	Y    float64  `parquet:"y"`
}

// nullsFile has two row groups of rows rows; every third value of "some" is null.
func nullsFile(t *testing.T, path string, rows int, options ...parquet.WriterOption) {
	t.Helper()
	var all []nullsRow
	for i := range 2 * rows {
		v := float64(i % rows)
		r := nullsRow{None: &v, Must: v, Y: v}
		if i%rows%3 != 0 {
			r.Some = &v
		}
		all = append(all, r)
	}
	fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o700))
	fatal.If(t, parquet.WriteFile(path, all, append(options, parquet.MaxRowsPerRowGroup(int64(rows)))...))
}

func TestStatisticsAddUpTheFooters(t *testing.T) {
	dir := t.TempDir()
	nullsFile(t, filepath.Join(dir, "k=1", "a.parquet"), 9)
	nullsFile(t, filepath.Join(dir, "k=__HIVE_DEFAULT_PARTITION__", "b.parquet"), 6)
	// Without bounds there is a count all the same.
	nullsFile(t, filepath.Join(dir, "k=2", "c.parquet"), 3, parquet.DataPageStatistics(false), parquet.SkipPageBounds("none"))
	src := open(t, lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Target: "y"}})
	got, err := src.Statistics(t.Context())
	fatal.If(t, err)
	nothing, unknown := math.Inf(1), math.NaN()
	want := []lake.ColumnStatistics{
		{"all", 36, 0, nothing, -nothing, ""},
		{"k", 12, 0, 1, 2, ""},
		{"must", 0, 0, 0, 8, ""},
		{"none", 0, 0, unknown, unknown, ""}, // by the third file
		{"some", 12, 0, 1, 8, ""},
		{"y", 0, 0, 0, 8, ""},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("Statistics() (-want +got):\n%s", diff)
	}
}
