package lake_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// inBoth writes files into a folder and into a store.
func inBoth(t *testing.T) (dir string, s *objectstest.Server) {
	t.Helper()
	dir, s = t.TempDir(), objectstest.New(t)
	for i, name := range []string{"day=1/a.parquet", "day=1/b.parquet", "day=2/c.parquet", "day=2/_d.parquet"} {
		data := numbersFile(t, float64(i+1))
		file := filepath.Join(dir, "lake", filepath.FromSlash(name))
		fatal.If(t, os.MkdirAll(filepath.Dir(file), 0o755))
		fatal.If(t, os.WriteFile(file, data, 0o600))
		s.Put("lake/"+name, data)
	}
	return dir, s
}

// A lake in a store keeps the contract of a source, and has the rows of the same files on a
// disk: folders, patterns and keys in paths mean the same.
func TestLakeInAStore(t *testing.T) {
	dir, s := inBoth(t)
	used := []string{"X", "day"}
	of := func(t *testing.T, paths ...string) *lake.Source {
		return open(t, lake.Config{Paths: paths, Choice: dataset.Choice{Features: used, Target: "Y", Decoders: 4}})
	}
	pipelinetest.TestSource(t, func(t *testing.T) dataset.Source { return of(t, s.Address("lake")) })
	for _, paths := range [][]string{{"lake"}, {"lake/day=2/", "lake/day=1/b.parquet"}, {"lake/*/[ac].parquet"}, {"lake/day=1/a.parquet"}} {
		var here, there []string
		for _, p := range paths {
			here, there = append(here, filepath.Join(dir, filepath.FromSlash(p))), append(there, s.Address(p))
		}
		sameRows(t, of(t, there...), of(t, here...))
	}
	far, near := of(t, s.Address("lake")), of(t, filepath.Join(dir, "lake"))
	for i, f := range far.Files() {
		if f.Tag != strings.Trim(s.Tag(strings.TrimPrefix(f.Path, s.Address(""))), `"`) || f.ListedFile(dir).Path != f.Path || near.Files()[i].Tag != "" {
			t.Errorf("file %s: tag %s, listed as %s", f.Path, f.Tag, f.ListedFile(dir).Path)
		}
	}
}

func sameRows(t *testing.T, far, near *lake.Source) {
	t.Helper()
	if diff := cmp.Diff(near.Columns(), far.Columns()); diff != "" {
		t.Fatal(diff)
	}
	if a, b := len(far.Shards()), len(near.Shards()); a != b || a == 0 {
		t.Fatalf("%d shards, on disk %d", a, b)
	}
	for i := range near.Shards() {
		a, digests := pipelinetest.Read(t, far, i)
		b, want := pipelinetest.Read(t, near, i)
		if !slices.Equal(digests, want) || !cmp.Equal(a, b) {
			t.Errorf("shard %d: other rows or digests than on disk", i)
		}
	}
}

// The files of a manifest are found in a store, and kept columns are read from it.
func TestManifestAndKeptColumnsInAStore(t *testing.T) {
	_, s := inBoth(t)
	files, _, err := lake.Files(t.Context(), []string{s.Address("lake")})
	fatal.If(t, err)
	want := files[1].ListedFile("")
	want.Path = "elsewhere/b.parquet"
	found, err := lake.Find(t.Context(), []string{s.Address("lake")}, []dataset.ManifestFile{want})
	fatal.If(t, err)
	if diff := cmp.Diff([]string{s.Address("lake/day=1/b.parquet")}, found.Paths); diff != "" {
		t.Error(diff)
	}
	kept, err := lake.OpenStored(t.Context(), found.Paths[0], []string{"X", "day"}, 0)
	fatal.If(t, err)
	values, err := kept.Next(t.Context(), 80)
	fatal.If(t, err)
	if x, day := values[0][1].Double(), values[1][1].String(); x != 2.125 || day != "1" {
		t.Errorf("row 1 is X=%v, day=%s", x, day)
	}
	fatal.If(t, kept.Close())
}

// An object that is replaced while a source reads it is an error that names it, and so is a store
// that does not answer: no row is left out in silence.
func TestStoresThatChangeOrFail(t *testing.T) {
	_, s := inBoth(t)
	src := open(t, lake.Config{Paths: []string{s.Address("lake")}, Choice: dataset.Choice{Features: []string{"X"}, Target: "Y"}})
	s.Put("lake/day=1/a.parquet", numbersFile(t, 7))
	_, err := src.Open(t.Context(), 0)
	wantError(t, err, s.Address("lake/day=1/a.parquet"), "has changed")
	for path, says := range map[string]string{"nothing": "does not exist", "lake/day=9/*.parquet": "no data file matches"} {
		_, _, err := lake.Files(t.Context(), []string{s.Address(path)})
		wantError(t, err, says)
	}
	s.Break(func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		objectstest.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	for _, path := range []string{"lake", "lake/*/a.parquet"} {
		_, _, err := lake.Files(t.Context(), []string{s.Address(path)})
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "403") || strings.Contains(err.Error(), "that exists") || strings.Contains(err.Error(), objectstest.Secret) {
			t.Errorf("%s of a store that refuses: %v", path, err)
		}
	}
}

// numbersFile is a Parquet file of two row groups, with other rows for each seed.
func numbersFile(t *testing.T, seed float64) []byte {
	t.Helper()
	type row struct{ X, Y float64 }
	var file bytes.Buffer
	var rows []row
	for i := range 40 {
		rows = append(rows, row{seed + float64(i)/8, seed * float64(i*i)})
	}
	fatal.If(t, parquet.Write(&file, slices.Repeat(rows, 2), parquet.MaxRowsPerRowGroup(40)))
	return file.Bytes()
}
