package lake_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// Text is read as the numbers of its labels, in every encoding and from keys of paths; a null is a bad
// cell. Not named as a label it stays unusable.
func TestTextIsReadAsLabels(t *testing.T) {
	type row struct {
		X     float64 `parquet:"x"`
		Plain string  `parquet:"plain,plain"`
		Dict  *string `parquet:"dict,dict,optional"`
		Delta string  `parquet:"delta,delta"`
		Y     float64 `parquet:"y"`
	}
	dir := t.TempDir()
	texts := func(i int) string {
		return []string{"", "Dongsi", "Wanliu", "Grüß Gott", strings.Repeat("long ", 50)}[i%5] + fmt.Sprint(i%7)
	}
	for _, city := range []string{"Bern", "7"} {
		folder := filepath.Join(dir, "city="+city)
		fatal.If(t, os.MkdirAll(folder, 0o700))
		rows := make([]row, 5000)
		for i := range rows {
			rows[i] = row{float64(i), texts(i), new(texts(i + 1)), texts(i + 2), 1}
		}
		rows[77].Dict = nil
		fatal.If(t, parquet.WriteFile(filepath.Join(folder, "a.parquet"), rows))
	}
	src := open(t, lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Features: []string{"x"}, Labels: []string{"plain", "dict", "delta", "city"}, Target: "y", Mark: true}})
	for shard, city := range []string{"7", "Bern"} {
		n := 0
		_, err := pipelinetest.Each(t.Context(), src, shard, func(r arrow.Record) {
			for i := range int(r.NumRows()) {
				for c, want := range map[int]string{1: texts(n), 2: texts(n + 1), 3: texts(n + 2), 4: city} {
					got := r.Column(c).(*array.Float64).Value(i)
					if n == 77 && c == 2 {
						if !math.IsNaN(got) {
							t.Errorf("a null is %v", got)
						}
					} else if got != job.Label(want) {
						t.Fatalf("row %d, column %d: %v, want that of %q", n, c, got, want)
					}
				}
				n++
			}
		})
		if n != 5000 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
	}
	_, err := lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Features: []string{"plain"}, Target: "y"}})
	wantError(t, err, "not read as numbers")
	if got := job.Label("Dongsi"); got != math.Trunc(got) || got >= 1<<53 {
		t.Errorf("Label = %v", got)
	}
}
