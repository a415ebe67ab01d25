package lake_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// tree writes one small file of rows and copies it to the given paths.
func tree(t *testing.T, positions ...string) string {
	t.Helper()
	dir := t.TempDir()
	g, err := synth.New(synth.Config{Seed: 4})
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, ".source"), 1, 0, 10))
	b, err := os.ReadFile(filepath.Join(dir, ".source", "part-00.parquet"))
	fatal.If(t, err)
	for _, p := range positions {
		path := filepath.Join(dir, filepath.FromSlash(p))
		fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o700))
		fatal.If(t, os.WriteFile(path, b, 0o600))
	}
	return dir
}

// files returns the paths below dir that a listing finds, with slashes.
func files(t *testing.T, dir string, paths ...string) (names, warnings []string) {
	t.Helper()
	for i, p := range paths {
		paths[i] = filepath.Join(dir, filepath.FromSlash(p))
	}
	found, warnings, err := lake.Files(t.Context(), paths)
	fatal.If(t, err)
	for _, f := range found {
		rel, err := filepath.Rel(dir, f.Path)
		fatal.If(t, err)
		names = append(names, filepath.ToSlash(rel))
	}
	return names, warnings
}

func TestListOrder(t *testing.T) {
	dir := tree(t, "b/2.parquet", "b/10.parquet", "a/z.PARQUET", "a-1/x.parquet", "a/_tmp/x.parquet", "a/.x.parquet", "a/_SUCCESS", "a/notes.txt", "c.data")
	for _, c := range []struct{ paths, want []string }{
		{[]string{"."}, []string{"a-1/x.parquet", "a/z.PARQUET", "b/10.parquet", "b/2.parquet"}},
		{[]string{"b", "a"}, []string{"b/10.parquet", "b/2.parquet", "a/z.PARQUET"}},
		{[]string{"b/2.parquet", "b"}, []string{"b/2.parquet", "b/10.parquet"}},
		{[]string{"*/*.parquet"}, []string{"a-1/x.parquet", "b/10.parquet", "b/2.parquet"}},
		{[]string{"b*", "./b/../b/2.parquet"}, []string{"b/10.parquet", "b/2.parquet"}},
		{[]string{"c.data", "a/.x.parquet"}, []string{"c.data", "a/.x.parquet"}}, // declared by name
	} {
		if got, _ := files(t, dir, slices.Clone(c.paths)...); !slices.Equal(got, c.want) {
			t.Errorf("files of %q = %q, want %q", c.paths, got, c.want)
		}
	}
	if _, warnings := files(t, dir, "."); len(warnings) != 1 {
		t.Errorf("warnings %q, want one on skipped files", warnings)
	}
}

func TestListSymbolicLinks(t *testing.T) {
	dir := tree(t, "real/x.parquet")
	for link, to := range map[string]string{"real/loop": "..", "data": "real", "y.parquet": "real/x.parquet"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	if got, _ := files(t, dir, "."); len(got) != 1 {
		t.Errorf("files %q, want the one file once", got)
	}
}

// What Finds says of a file that is not there is what a listing does once it is.
func TestFinds(t *testing.T) {
	for _, c := range []struct {
		declared, file string
		want           bool
	}{
		{"lake", "lake/new.parquet", true},
		{"lake/", "lake/out/new.parquet", true},
		{".", "lake/a/b/new.PQ", true},
		{"link", "lake/out/new.parquet", true},
		{"lake", "link/out/new.parquet", true},
		{"lake/*", "lake/out/new.parquet", true},
		{"lake/*.parquet", "lake/new.parquet", true},
		{"l*", "lake/out/new.parquet", true},
		{"lin?", "link/out/new.parquet", true},
		{"lake/_own", "lake/_own/new.parquet", true},
		{"lake/_*", "lake/out/new.parquet", false},
		{"lake", "lake/_out/new.parquet", false},
		{"lake", "lake/.out/a/new.parquet", false},
		{"lake", "lake/_new.parquet", false},
		{"lake", "lake/new.csv", false},
		{"lake", "lake-2/new.parquet", false},
		{"lake/*.parquet", "lake/out/new.parquet", false},
		{"lake/p*.parquet", "lake/new.parquet", false},
		{"lake/p.parquet", "lake/new.parquet", false},
	} {
		dir := tree(t, "lake/p.parquet", "lake/_own/p.parquet")
		fatal.If(t, os.Symlink("lake", filepath.Join(dir, "link")))
		declared, file := filepath.Join(dir, c.declared), filepath.Join(dir, c.file)
		if got := (lake.Rows{filepath.Join(dir, "other"), declared}).Finds(file); (got == declared) != c.want || got != "" && !c.want {
			t.Errorf("%s below %s: Finds = %q", c.file, c.declared, got)
		}
		content, err := os.ReadFile(filepath.Join(dir, "lake", "p.parquet"))
		fatal.If(t, err)
		fatal.If(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, content, 0o600)))
		found, _, err := lake.Files(t.Context(), []string{declared})
		if err != nil && c.want {
			t.Fatal(err)
		}
		at, err := os.Stat(file)
		fatal.If(t, err)
		read := slices.ContainsFunc(found, func(f lake.File) bool {
			other, err := os.Stat(f.Path)
			return err == nil && os.SameFile(at, other)
		})
		if read != c.want {
			t.Errorf("%s below %s is read: %v, want %v", c.file, c.declared, read, c.want)
		}
	}
	if got := (lake.Rows{""}).Finds("new.parquet"); got != "" {
		t.Errorf("an empty path finds it: %q", got)
	}
}

func TestListErrors(t *testing.T) {
	dir := tree(t, "a/x.parquet", "empty/_SUCCESS")
	for path, words := range map[string][]string{
		"missing":   {"missing", "name a file"},
		"empty":     {"no data file", "*.parquet"},
		"a/*.csv":   {"no data file matches", "*.csv"},
		"[":         {"pattern"},
		"a/x.parqu": {"x.parqu"},
	} {
		_, _, err := lake.Files(t.Context(), []string{filepath.Join(dir, path)})
		wantError(t, err, words...)
	}
	_, _, err := lake.Files(t.Context(), nil)
	wantError(t, err, "no path is declared")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := lake.Files(ctx, []string{dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("a listing with a canceled context: %v", err)
	}
}

func TestHiveKeys(t *testing.T) {
	dir := tree(t, "k=1/name=a%20b/p.parquet", "k=02.5/name=7/p.parquet", "k=__HIVE_DEFAULT_PARTITION__/name=8/p.parquet", "k=3/name=__HIVE_DEFAULT_PARTITION__/p.parquet")
	src := open(t, lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Target: "y"}})
	if want := []string{"k", "x1", "x2", "x3", "y"}; !slices.Equal(src.Columns(), want) {
		t.Errorf("columns %q, want %q", src.Columns(), want)
	}
	if len(src.Warnings()) != 1 {
		t.Errorf("warnings %q, want one on name", src.Warnings())
	}
	_, err := readAll(t, src)
	wantError(t, err, "row 0", `"k" is null`)
	_, err = readAll(t, open(t, lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Features: []string{"x1"}, Labels: []string{"name"}, Target: "y"}}))
	wantError(t, err, "k=3/name", "row 0", `"name" is null`)
	_, err = lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Features: []string{"name"}, Target: "y"}})
	wantError(t, err, "name", "text in the path")
}

func TestColumnChoice(t *testing.T) {
	dir := tree(t, "p.parquet")
	for _, c := range []struct {
		cfg   lake.Config
		words []string
	}{
		{lake.Config{Choice: dataset.Choice{Target: "z"}}, []string{`no column "z"`, "it has x1, x2, x3, y"}},
		{lake.Config{Choice: dataset.Choice{Features: []string{"x1", "y"}, Target: "y"}}, []string{"target and also a feature"}},
		{lake.Config{Choice: dataset.Choice{Features: []string{"x1", "x1"}, Target: "y"}}, []string{"twice"}},
		{lake.Config{Choice: dataset.Choice{Features: []string{"x9", "x8"}, Target: "y"}}, []string{"x9", "x8"}},
		{lake.Config{Choice: dataset.Choice{Exclude: []string{"x7"}, Target: "y"}}, []string{"x7", "no file has"}},
		{lake.Config{Choice: dataset.Choice{Exclude: []string{"x1", "x2", "x3"}, Target: "y"}}, []string{"no feature is left"}},
		{lake.Config{Choice: dataset.Choice{Exclude: []string{"x1"}, Features: []string{"x2"}, Target: "y"}}, []string{"exclude"}},
		{lake.Config{BatchRows: -1, Choice: dataset.Choice{Target: "y"}}, []string{"batches of -1"}},
	} {
		c.cfg.Paths = []string{dir}
		_, err := lake.Open(t.Context(), c.cfg)
		wantError(t, err, c.words...)
	}
	src := open(t, lake.Config{Paths: []string{dir}, NoDigests: true, Choice: dataset.Choice{Features: []string{"y", "x2"}}})
	if !slices.Equal(src.Columns(), []string{"y", "x2"}) {
		t.Errorf("columns %q", src.Columns())
	}
	if digests, err := readAll(t, src); err != nil || digests != nil {
		t.Errorf("without digests: %v, %v", digests, err)
	}
}

func TestChangedFileIsRefused(t *testing.T) {
	dir := tree(t, "p.parquet")
	path := filepath.Join(dir, "p.parquet")
	src := open(t, lake.Config{Paths: []string{path}, Choice: dataset.Choice{Target: "y"}})
	g, err := synth.New(synth.Config{Seed: 9})
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), dir, 1, 0, 10))
	fatal.If(t, os.Rename(filepath.Join(dir, "part-00.parquet"), path))
	_, err = readAll(t, src)
	wantError(t, err, path, "has changed")
	fatal.If(t, os.Remove(path))
	if _, err := readAll(t, src); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed file: %v", err)
	}
}

// A line break in a name could make a name look like a report.
func TestNamesOfOneLine(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a\nok: verified.parquet")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{dir, name, filepath.Join(dir, "*.parquet")} {
		if _, _, err := lake.Files(t.Context(), []string{path}); err == nil || !strings.Contains(err.Error(), "line break") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// The folder of a table has files whose rows were deleted: it is refused with a line that lists the
// current ones, which can be declared by name.
func TestFoldersOfTablesAreRefused(t *testing.T) {
	dir := tree(t, "delta/a.parquet", "delta/_delta_log/0.json", "hudi/day=1/a.parquet", "hudi/.hoodie/hoodie.properties", "ice/data/a.parquet", "ice/metadata/v1.metadata.json", "plain/metadata/a.parquet")
	for says, paths := range map[string][]string{
		"deltalake": {"delta", "delta/*.parquet", "*"},
		"hudi":      {"hudi", "hudi/day=1", "hudi/*/*.parquet", "hudi/day*"},
		"pyiceberg": {"ice", "ice/data"},
		"":          {"plain", "delta/a.parquet"},
	} {
		for _, path := range paths {
			_, _, err := lake.Files(t.Context(), []string{filepath.Join(dir, filepath.FromSlash(path))})
			if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), "python -c 'from "+says) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
