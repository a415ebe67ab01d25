package lake

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// The columns of groups are read by their paths, as requested: a null anywhere on the path is one.
func TestColumnsOfGroups(t *testing.T) {
	type inner struct {
		C *float64 `parquet:"c"`
		D int64    `parquet:"d"`
	}
	type outer struct {
		A float64   `parquet:"a"`
		B *inner    `parquet:"b"`
		L []float64 `parquet:"l"`
	}
	type row struct {
		X float64 `parquet:"x"`
		S *outer  `parquet:"s"`
		Y float64 `parquet:"y"`
	}
	const n = 5000
	var rows []row
	want := [4][]float64{}
	for i := range n {
		r, v := row{X: float64(i), Y: float64(-i)}, float64(i)/8
		a, c, d := math.NaN(), math.NaN(), math.NaN()
		if i%5 != 0 {
			r.S, a = &outer{A: v, L: make([]float64, i%3)}, v
			if i%7 != 0 {
				r.S.B, d = &inner{D: int64(i % 50)}, float64(i%50)
				if i%11 != 0 {
					r.S.B.C, c = &v, v
				}
			}
		}
		rows = append(rows, r)
		for j, v := range []float64{a, c, d, -float64(i)} {
			want[j] = append(want[j], v)
		}
	}
	for name, options := range map[string][]parquet.WriterOption{
		"pages 1":  {parquet.DataPageVersion(1), parquet.PageBufferSize(1 << 10)},
		"pages 2":  {parquet.DataPageVersion(2), parquet.Compression(&parquet.Zstd)},
		"one page": {parquet.DataPageVersion(1), parquet.PageBufferSize(1 << 24)},
	} {
		path := filepath.Join(t.TempDir(), "nested.parquet")
		fatal.If(t, parquet.WriteFile(path, rows, options...))
		src, err := Open(t.Context(), Config{Paths: []string{path}, BatchRows: 333, Choice: dataset.Choice{Features: []string{"s.a", "s.b.c", "s.b.d"}, Target: "y", Mark: true}})
		fatal.If(t, err)
		got, err := marked(t, src)
		fatal.If(t, err)
		for j := range want {
			if !slices.EqualFunc(got[j], want[j], func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
				t.Errorf("%s: column %s has other values", name, src.Columns()[j])
			}
		}
		if src, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Target: "y"}}); err != nil || !slices.Equal(src.Columns(), []string{"x", "y"}) {
			t.Errorf("%s: columns without a request: %v, %v", name, src, err)
		}
		for column, why := range map[string]string{"s": "name a column in it", "s.l": "a repeated column", "s.b": "name a column in it", "s.e": "no column"} {
			_, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Features: []string{column}, Target: "y"}})
			if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), column) {
				t.Errorf("%s, %s: %v", name, column, err)
			}
		}
	}
}
