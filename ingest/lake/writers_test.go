package lake_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// The columns of data/writers, and their sums by the README there. All values
// are multiples of 1/8, so that the sums are exact in any order.
var (
	writersFeatures = []string{"temp", "pres", "wind", "hour", "rain", "time"}
	writersSums     = []float64{96030.125, 6048484.875, 9339.125, 69839, 265, 8249077321200, 490476}
)

const writersTarget = "pm"

// table reads all rows and digests each column over all shards.
func table(t *testing.T, src pipeline.Source) (columns [][]float64) {
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

// refusal is what the message must name for a file that is not read: two have
// codec LZ4_RAW, eight have run-length encoded booleans in column rain.
func refusal(name string) string {
	switch {
	case strings.Contains(name, "lz4"):
		return "LZ4_RAW"
	case strings.HasPrefix(name, "parquetmr-20"), strings.HasPrefix(name, "pyarrow-v2pages"), name == "pyarrow-delta.parquet":
		return "RLE"
	}
	return ""
}

func TestWritersSame(t *testing.T) {
	files, err := filepath.Glob(sharedData(t, "writers", "same", "*.parquet"))
	if err != nil || len(files) != 56 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var want []pipeline.ColumnDigest
	read := 0
	for _, path := range files {
		name := filepath.Base(path)
		src, err := lake.Open(t.Context(), lake.Config{Paths: []string{path}, Features: writersFeatures, Target: writersTarget, BatchRows: 700})
		if err != nil {
			if what := refusal(name); what == "" || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "rain") && what == "RLE" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
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
		read++
	}
	if read != 46 {
		t.Errorf("%d files were read, want 46", read)
	}
}
