package config

import (
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A file that comes while a job runs is in none of its passes; keys of paths stay columns.
func TestListedOnce(t *testing.T) {
	dir := t.TempDir()
	g, err := NewGenerator()
	fatal.If(t, err)
	for _, day := range []string{"day=1", "day=2"} {
		fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, day), 2, 0, 40))
	}
	rows := Task{Source: Lake{dir}}.Rows()
	want := dataset.Choice{Features: []string{"x1", "day"}, Target: "y"}
	first, err := rows.Open(t.Context(), want)
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, "day=0"), 1, 0, 40))
	again, err := rows.Open(t.Context(), want)
	fatal.If(t, err)
	if n := len(first.Shards()); n != 4 || len(again.Shards()) != n {
		t.Fatalf("%d shards, and later %d", n, len(again.Shards()))
	}
	for i, shard := range first.Shards() {
		if got := again.Shards()[i]; got.Name != shard.Name || got.Rows != shard.Rows {
			t.Errorf("shard %d is %+v, and was %+v", i, got, shard)
		}
	}
}
