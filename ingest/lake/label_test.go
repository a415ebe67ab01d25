package lake_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
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
		file, err := os.Create(filepath.Join(folder, "a.parquet"))
		fatal.If(t, err)
		w := parquet.NewGenericWriter[row](file)
		for i := range 5000 {
			r := row{float64(i), texts(i), new(texts(i + 1)), texts(i + 2), 1}
			if i == 77 {
				r.Dict = nil
			}
			_, err := w.Write([]row{r})
			fatal.If(t, err)
		}
		fatal.If(t, w.Close())
		fatal.If(t, file.Close())
	}
	src, err := lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Features: []string{"x"}, Labels: []string{"plain", "dict", "delta", "city"}, Target: "y", Mark: true}})
	fatal.If(t, err)
	for shard, city := range []string{"7", "Bern"} {
		b, err := src.Open(t.Context(), shard)
		fatal.If(t, err)
		n := 0
		for {
			r, err := b.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			fatal.If(t, err)
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
			r.Release()
		}
		fatal.If(t, b.Close())
		if n != 5000 {
			t.Errorf("%d rows", n)
		}
	}
	if _, err := lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Features: []string{"plain"}, Target: "y"}}); err == nil || !strings.Contains(err.Error(), "not read as numbers") {
		t.Errorf("text as a feature: %v", err)
	}
	if got := job.Label("Dongsi"); got != math.Trunc(got) || got >= 1<<53 {
		t.Errorf("Label = %v", got)
	}
}
