package lake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects"
)

// globTree makes empty files, whose folders are named by the parts of a path.
func globTree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f))
		fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o700))
		fatal.If(t, os.WriteFile(path, nil, 0o600))
	}
	return dir
}

// Without links the matches are those of filepath.Glob that have no hidden name
// for a wildcard.
func TestExpandIsGlob(t *testing.T) {
	dir := globTree(t, "a/x.parquet", "a/y.parquet", "a-b/x.parquet", "a/b/c/z.pq", "b/.h/x.parquet", "_h/x.parquet", ".g/b/x.parquet", "k=1/k=2/x.parquet", "k=2/x.parquet", "b*/x.parquet", "x.parquet")
	t.Chdir(dir)
	for _, pattern := range []string{
		"*", "*/*", "*/*/*", "*/*/*/*", "*/*/*/*/*", "a*/x.parquet", "a/*", "a/b/*/*.pq", "?/[xy].parquet", "[a-b]/[^x]*", "*/x.parquet", "*/b/c/*", "k=*/*/*", "_h/*", ".g/*/*",
		"b/.h/*", "*/.h/*", `b\*/*`, `a\-b/*`, "*/.*/*", "*.parquet", "none*/x", "x.parquet/*", "*/../*", "../*/a/*",
	} {
		for _, p := range []string{pattern, filepath.Join(dir, pattern)} {
			p = filepath.Clean(p)
			want, err := filepath.Glob(p)
			fatal.If(t, err)
			want = slices.DeleteFunc(want, func(m string) bool { return hiddenMatch(p, m) })
			got, err := expand(t.Context(), objects.NewView(), p)
			fatal.If(t, err)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", p, got, want)
			}
		}
	}
}

// Folders that are linked to each other have more paths than anybody can walk: each
// is searched once on a level.
func TestExpandSearchesAFolderOnceALevel(t *testing.T) {
	names := strings.Split("abcdefgh", "")
	dir := globTree(t, "a/x.parquet", "b/x.parquet", "c/x.parquet", "d/x.parquet", "e/x.parquet", "f/x.parquet", "g/x.parquet", "h/x.parquet")
	for _, in := range names {
		for _, to := range names {
			if err := os.Symlink(filepath.Join("..", to), filepath.Join(dir, in, "to-"+to)); err != nil {
				t.Skip(err)
			}
		}
	}
	began := time.Now()
	pattern := filepath.Join(dir, strings.Repeat("*"+string(filepath.Separator), 12)+"*.parquet")
	found, err := expand(t.Context(), objects.NewView(), pattern)
	if err != nil || len(found) != len(names) {
		t.Errorf("%q, %v, want each of the %d files once", found, err, len(names))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := expand(ctx, objects.NewView(), pattern); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
