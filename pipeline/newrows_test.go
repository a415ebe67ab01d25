package pipeline

import (
	"fmt"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Rows are known again in whatever row groups and files they lie, and nowhere else.
func TestManifestHolds(t *testing.T) {
	rows := func(from, to int) [][]float64 {
		columns := make([][]float64, 3)
		for i := from; i < to; i++ {
			for c := range columns {
				columns[c] = append(columns[c], float64(i*i%97)+float64(c))
			}
		}
		return columns
	}
	source := func(from, to, shard int) dataset.Source {
		t.Helper()
		var sizes []int
		for at := from; at < to; at += shard {
			sizes = append(sizes, min(shard, to-at))
		}
		all, err := dataset.Columns([]string{"a", "b", "y"}, rows(from, to), sizes...)
		fatal.If(t, err)
		src, err := all.Open(t.Context(), dataset.Choice{Features: []string{"a", "b"}, Target: "y"})
		fatal.If(t, err)
		return src
	}
	digests := func(src dataset.Source) (m []dataset.ManifestShard) {
		t.Helper()
		for i, s := range src.Shards() {
			b, err := src.Open(t.Context(), i)
			fatal.If(t, err)
			for {
				r, err := b.Next(t.Context())
				if err != nil {
					break
				}
				r.Release()
			}
			m = append(m, dataset.ManifestShard{Rows: s.Rows, Digest: dataset.ShardDigest(s.First, s.Rows, b.ColumnDigests()).String()})
		}
		return m
	}
	var m Manifest
	for i, s := range digests(source(0, 100, 10)) { // files of 20, 30 and 50 rows
		if i == 0 || i == 2 || i == 5 {
			m.Files = append(m.Files, dataset.ManifestFile{Path: fmt.Sprint(i)})
		}
		f := &m.Files[len(m.Files)-1]
		f.Shards, f.Rows = append(f.Shards, s), f.Rows+s.Rows
	}
	for _, c := range []struct {
		from, to, shard int
		want            bool
	}{
		{0, 100, 7, true},
		{0, 20, 20, true},
		{20, 50, 9, true},
		{50, 100, 50, true},
		{20, 100, 80, true},
		{1, 21, 20, false},
		{50, 70, 20, false},
		{0, 99, 10, false},
		{100, 120, 20, false},
		{100, 101, 1, false},
	} {
		src := source(c.from, c.to, c.shard)
		if got, err := m.Holds(t.Context(), src, 2); err != nil || got != c.want {
			t.Errorf("rows %d to %d: %v, %v", c.from, c.to, got, err)
		}
		one, err := RowsDigest(t.Context(), src, 2)
		fatal.If(t, err)
		if other, err := RowsDigest(t.Context(), source(c.from, c.to, c.shard+3), 1); err != nil || one != other {
			t.Errorf("rows %d to %d in other shards: %v, %v and %v", c.from, c.to, err, one, other)
		}
	}
}
