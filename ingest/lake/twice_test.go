//go:build unix

package lake_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// One file in two folders with different keys has rows with an unknown
// key.
func TestListTwiceUnderOtherKeys(t *testing.T) {
	dir := tree(t, "k=1/x.parquet", "k=2/z.parquet")
	if err := os.Symlink(filepath.Join(dir, "k=1/x.parquet"), filepath.Join(dir, "k=2/y.parquet")); err != nil {
		t.Skip(err)
	}
	_, _, err := lake.Files(t.Context(), []string{dir})
	wantError(t, err, "k=1/x.parquet", "k=2/y.parquet", "the same file", "keys in their paths differ")
	dir = tree(t, "k=1/x.parquet")
	if err := os.Symlink("k=1", filepath.Join(dir, "k=2")); err != nil {
		t.Skip(err)
	}
	_, _, err = lake.Files(t.Context(), []string{dir})
	wantError(t, err, "k=1", "k=2", "the same folder")
}

// A folder is searched once: n folders with links to each other have n! paths.
func TestListLinkedFolders(t *testing.T) {
	const folders = 12
	dir := tree(t, "f00/x.parquet", "f11/z.parquet")
	for i := range folders {
		for j := range folders {
			from := filepath.Join(dir, fmt.Sprintf("f%02d", i))
			fatal.If(t, os.MkdirAll(from, 0o700))
			if err := os.Symlink(fmt.Sprintf("../f%02d", j), filepath.Join(from, fmt.Sprintf("to%02d", j))); err != nil {
				t.Skip(err)
			}
		}
	}
	began := time.Now()
	got, _ := files(t, dir, ".", "f03", "f11")
	if len(got) != 2 {
		t.Errorf("files %q, want two", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%v for %d folders", took, folders)
	}
}

// Pipes are not read, and nothing waits for somebody to write to one: neither
// where files are listed nor where one was swapped in since.
func TestPipesAreNotRead(t *testing.T) {
	dir := tree(t, "p.parquet", "q.parquet")
	pipe := filepath.Join(dir, "r.parquet")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range []string{dir, filepath.Join(dir, "*.parquet")} {
			found, warnings, err := lake.Files(t.Context(), []string{path})
			if err != nil || len(found) != 2 || len(warnings) != 1 {
				t.Errorf("%s: %d files, warnings %q, %v; want two files and a warning on the pipe", path, len(found), warnings, err)
			}
		}
		_, _, err := lake.Files(t.Context(), []string{pipe})
		wantError(t, err, "r.parquet", "neither a file nor a directory")
		_, _, err = lake.Files(t.Context(), []string{"/dev/zero"})
		wantError(t, err, "/dev/zero", "neither a file nor a directory")

		src, err := lake.Open(t.Context(), lake.Config{Paths: []string{filepath.Join(dir, "p.parquet")}, Choice: dataset.Choice{Target: "y"}})
		if err != nil {
			t.Error(err)
			return
		}
		if err := os.Rename(pipe, filepath.Join(dir, "p.parquet")); err != nil {
			t.Error(err)
		}
		_, err = src.Open(t.Context(), 0)
		wantError(t, err, "p.parquet", "not a regular file")
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a writer")
	}
}
