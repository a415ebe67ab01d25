package lake_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// The columns of testdata/writers, and their sums by the README there. All values
// are multiples of 1/8, so that the sums are exact in any order.
var (
	writersFeatures = []string{"temp", "pres", "wind", "hour", "rain", "time"}
	writersSums     = []float64{96030.125, 6048484.875, 9339.125, 69839, 265, 8249077321200, 490476}
)

const writersTarget = "pm"

// table reads all rows and digests each column over all shards.
func table(t *testing.T, src dataset.Source) (columns [][]float64) {
	t.Helper()
	columns = make([][]float64, len(src.Columns()))
	for i := range src.Shards() {
		part, _ := pipelinetest.Read(t, src, i)
		for j := range part {
			columns[j] = append(columns[j], part[j]...)
		}
	}
	return columns
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

func TestWritersSame(t *testing.T) {
	files, err := filepath.Glob(writersData("same", "*.parquet"))
	if err != nil || len(files) != 56 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var want []dataset.ColumnDigest
	for _, path := range files {
		name := filepath.Base(path)
		src := open(t, lake.Config{Paths: []string{path}, BatchRows: 700})
		columns, digests := pipelinetest.Read(t, src, 0)
		if len(src.Shards()) != 1 || len(columns[0]) != 6000 {
			t.Fatalf("%s: %d shards, %d rows", name, len(src.Shards()), len(columns[0]))
		}
		for j, c := range columns {
			if got := sum(c); got != writersSums[j] {
				t.Errorf("%s: sum of %s = %v, want %v", name, src.Columns()[j], got, writersSums[j])
			}
		}
		if want == nil {
			want = digests
		}
		if !slices.Equal(digests, want) {
			t.Errorf("%s: digests differ from those of %s", name, files[0])
		}
	}
}

// open opens one path with the columns of testdata/writers.
func open(t *testing.T, cfg lake.Config) *lake.Source {
	t.Helper()
	if cfg.Features == nil && cfg.Target == "" {
		cfg.Features, cfg.Target = writersFeatures, writersTarget
	}
	src, err := lake.Open(t.Context(), cfg)
	fatal.If(t, err)
	return src
}

func TestWritersGroups(t *testing.T) {
	want := table(t, open(t, lake.Config{Paths: []string{writersData("same", "pyarrow-none.parquet")}}))
	files, err := filepath.Glob(writersData("groups", "*.parquet"))
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		src := open(t, lake.Config{Paths: []string{path}})
		if len(src.Shards()) < 2 {
			t.Errorf("%s: %d shards", path, len(src.Shards()))
		}
		got := table(t, src)
		for j := range want {
			if !slices.Equal(got[j], want[j]) {
				t.Errorf("%s: column %s differs", path, src.Columns()[j])
			}
		}
	}
}

func TestWritersConformance(t *testing.T) {
	pipelinetest.TestSource(t, func(t *testing.T) dataset.Source {
		return open(t, lake.Config{
			Paths: []string{writersData("groups", "pyarrow-rows777.parquet"), writersData("same", "pyarrow-optional.parquet")}, BatchRows: 250,
		})
	})
}

func TestWritersNulls(t *testing.T) {
	for name, want := range map[string]ingest.RejectedRowError{
		"all-null-column.parquet":      {Row: 0, Column: "pres", Fault: ingest.Null},
		"inf-target-row39.parquet":     {Row: 39, Column: "pm", Target: true, Fault: ingest.Infinite},
		"nan-feature-row03.parquet":    {Row: 3, Column: "temp", Fault: ingest.NotANum},
		"neginf-feature-row00.parquet": {Row: 0, Column: "wind", Fault: ingest.Infinite},
		"null-feature-row07.parquet":   {Row: 7, Column: "pres", Fault: ingest.Null},
		"null-target-row11.parquet":    {Row: 11, Column: "pm", Target: true, Fault: ingest.Null},
	} {
		want.Where = writersData("nulls", name)
		for _, batchRows := range []int{1, 7, 1000} {
			src := open(t, lake.Config{Paths: []string{want.Where}, BatchRows: batchRows})
			_, err := readAll(t, src)
			var bad *ingest.RejectedRowError
			if !errors.As(err, &bad) || *bad != want || want.Target != strings.Contains(bad.Error(), "a target cannot be filled") {
				t.Errorf("%s in batches of %d: %v, want %v", name, batchRows, err, &want)
			}
		}
	}
	_, err := lake.Open(t.Context(), lake.Config{Paths: []string{writersData("nulls", "null-type-column.parquet")}, Choice: dataset.Choice{Features: writersFeatures, Target: writersTarget}})
	wantError(t, err, "pres", "column of nulls", "leave it out")
	src := open(t, lake.Config{Paths: []string{writersData("nulls", "null-type-column.parquet")}, Choice: dataset.Choice{Target: writersTarget}})
	if slices.Contains(src.Columns(), "pres") {
		t.Errorf("columns %q: pres has no type", src.Columns())
	}
}

func TestMarkKeepsRejectedRows(t *testing.T) {
	path := writersData("nulls", "null-feature-row07.parquet")
	src := open(t, lake.Config{Paths: []string{path}, BatchRows: 6, Choice: dataset.Choice{Mark: true, Features: writersFeatures, Target: writersTarget}})
	row := 0
	_, err := pipelinetest.Each(t.Context(), src, 0, func(record arrow.Record) {
		last := int(record.NumCols()) - 1
		if record.ColumnName(last) != ingest.ReasonColumn {
			t.Fatalf("last column is %q", record.ColumnName(last))
		}
		reasons := record.Column(last).(*array.String)
		pres := record.Column(1).(*array.Float64)
		for i := range int(record.NumRows()) {
			if bad := row == 7; bad == reasons.IsNull(i) || bad != math.IsNaN(pres.Value(i)) {
				t.Errorf("row %d: pres %v, reason %q", row, pres.Value(i), reasons.ValueStr(i))
			} else if bad && reasons.Value(i) != "pres is null" {
				t.Errorf("row %d: reason %q", row, reasons.Value(i))
			}
			row++
		}
	})
	if row != 40 || err != nil {
		t.Errorf("%d rows, want 40; %v", row, err)
	}
}

// readAll reads all rows; it returns the digests or the first error.
func readAll(t testing.TB, src dataset.Source) (digests []dataset.ColumnDigest, err error) {
	t.Helper()
	for i := range src.Shards() {
		some, err := pipelinetest.Each(t.Context(), src, i, nil)
		if err != nil {
			return nil, err
		}
		digests = append(digests, some...)
	}
	return digests, nil
}

// wantError checks that an error says what it must.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// writersData returns the path of a file or folder of testdata/writers.
func writersData(elem ...string) string {
	return filepath.Join(append([]string{"testdata", "writers"}, elem...)...)
}
