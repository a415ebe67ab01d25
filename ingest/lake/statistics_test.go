package lake

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// withStatistics is a file of testdata/writers in whose footer the smallest value of
// temp is another one, and is said to be exact or not.
func withStatistics(t *testing.T, least float64, exact bool) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", "writers", "same", "pyarrow-none.parquet"))
	fatal.If(t, err)
	foot, err := readFooter(bytes.NewReader(file), int64(len(file)))
	fatal.If(t, err)
	b := file[foot.start : len(file)-tailLength]
	is := foot.groups[0].Chunks[0].Stats.MinValue
	at := bytes.Index(b, append(bytes.Clone(is), 0x11, 0x11, 0)) // fields 7 and 8 are true
	size := 2
	if at < 0 {
		at, size = bytes.Index(b, append(bytes.Clone(is), 0)), 0
	}
	if at < 0 {
		t.Fatal("no statistics of temp")
	}
	word := []byte{0x11, 0x11}
	if !exact {
		word = []byte{0x12, 0x12}
	}
	changed := append(bytes.Clone(b[:at]), binary.LittleEndian.AppendUint64(nil, math.Float64bits(least))...)
	changed = append(append(changed, word...), b[at+8+size:]...)
	out := append(bytes.Clone(file[:foot.start]), changed...)
	out = append(binary.LittleEndian.AppendUint32(out, uint32(len(changed))), magic...)
	path := filepath.Join(t.TempDir(), "statistics.parquet")
	fatal.If(t, os.WriteFile(path, out, 0o600))
	return path
}

// A bound that its writer calls inexact lies outside of the values; others are values.
func TestInexactBounds(t *testing.T) {
	for _, c := range []struct {
		least float64
		exact bool
		words string // of the error
	}{
		{-1e6, true, "the footer's statistics say -1e+06"},
		{-1e6, false, ""},
		{1e6, false, "the footer's statistics say 1e+06"},
	} {
		src, err := Open(t.Context(), Config{Paths: []string{withStatistics(t, c.least, c.exact)}, Choice: dataset.Choice{Features: []string{"temp"}}})
		fatal.If(t, err)
		_, err = marked(t, src)
		if got := err != nil; got != (c.words != "") || got && !strings.Contains(err.Error(), c.words) {
			t.Errorf("smallest value %v, exact %t: %v, want %q", c.least, c.exact, err, c.words)
		}
	}
}

// Without a count in the footer the rows are uncounted; with one it is believed and
// checked, 0 as well.
func TestNullCounts(t *testing.T) {
	f, err := describeFile(t.Context(), objects.NewView(), filepath.Join("testdata", "writers", "nulls", "null-feature-row07.parquet"), nil)
	fatal.If(t, err)
	f.positions = positions(f.columns)
	type counts struct{ nulls, uncounted int64 }
	read := func(change func(*parquetmeta.Chunk)) (counts, error) {
		file, err := objects.NewView().Open(t.Context(), f.Path)
		fatal.If(t, err)
		defer file.Close()
		foot, err := readFooter(file, file.Size())
		fatal.If(t, err)
		c := f.column("pres")
		change(&foot.groups[0].Chunks[c.leaf])
		sum := ColumnStatistics{Column: "pres"}
		fatal.If(t, sum.add(f, foot, f.groups[0]))
		ch, err := foot.chunk(0, c)
		fatal.If(t, err)
		var cur cursor
		cur.reset(file, c, ch, new(lane), pageSlack)
		_, err = cur.read(make([]float64, ch.rows))
		fatal.If(t, err)
		return counts{sum.Nulls, sum.UncountedRows}, cur.finish()
	}
	for name, c := range map[string]struct {
		change func(*parquetmeta.Chunk)
		want   counts
		wrong  bool
	}{
		"as it is":  {func(*parquetmeta.Chunk) {}, counts{nulls: 1}, false},
		"no count":  {func(m *parquetmeta.Chunk) { m.Stats.Counted, m.Stats.Nulls = false, 0 }, counts{uncounted: 40}, false},
		"none":      {func(m *parquetmeta.Chunk) { m.Stats.Nulls = 0 }, counts{}, true},
		"too many":  {func(m *parquetmeta.Chunk) { m.Stats.Nulls = 2 }, counts{nulls: 2}, true},
		"all, even": {func(m *parquetmeta.Chunk) { m.Stats.Nulls = 40 }, counts{nulls: 40}, true},
	} {
		got, err := read(c.change)
		if got != c.want || (err != nil) != c.wrong {
			t.Errorf("%s: %+v, %v, want %+v, an error %t", name, got, err, c.want, c.wrong)
		}
	}
}
