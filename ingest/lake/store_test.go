package lake_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A memoryStore has its files in memory, as an object store has them elsewhere.
type memoryStore struct {
	files fstest.MapFS
	open  *atomic.Int64 // blobs
}

type memoryBlob struct {
	*bytes.Reader
	open *atomic.Int64
}

func (b memoryBlob) Close() error { b.open.Add(-1); return nil }

// slashed is a path as a key of the files.
func slashed(name string) string { return path.Clean(filepath.ToSlash(name)) }

func (m memoryStore) Open(_ context.Context, name string) (lake.Blob, error) {
	data, err := m.files.ReadFile(slashed(name))
	if err != nil {
		return nil, err
	}
	m.open.Add(1)
	return memoryBlob{bytes.NewReader(data), m.open}, nil
}

func (m memoryStore) Stat(_ context.Context, name string) (fs.FileInfo, error) {
	return m.files.Stat(slashed(name))
}

func (m memoryStore) ReadDir(_ context.Context, name string) ([]fs.DirEntry, error) {
	return m.files.ReadDir(slashed(name))
}

func (memoryStore) RealPath(name string) (string, error) {
	return slashed(name), nil
}

// numbersFile is a Parquet file of two row groups, with other rows for each seed.
func numbersFile(t *testing.T, seed float64) []byte {
	t.Helper()
	type row struct{ X, Y float64 }
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file)
	for range 2 {
		for i := range 40 {
			if _, err := w.Write([]row{{seed + float64(i)/8, seed * float64(i*i)}}); err != nil {
				t.Fatal(err)
			}
		}
		fatal.If(t, w.Flush())
	}
	fatal.If(t, w.Close())
	return file.Bytes()
}

// A lake behind another store keeps the contract of a source, and has the same rows in
// the same order; folders, patterns and keys in paths mean the same.
func TestLakeBehindAnotherStore(t *testing.T) {
	dir, used := t.TempDir(), []string{"X", "day"}
	m := memoryStore{fstest.MapFS{}, &atomic.Int64{}}
	for i, name := range []string{"day=1/a.parquet", "day=1/b.parquet", "day=2/c.parquet", "day=2/_d.parquet"} {
		data := numbersFile(t, float64(i+1))
		file := filepath.Join(dir, "lake", filepath.FromSlash(name))
		fatal.If(t, os.MkdirAll(filepath.Dir(file), 0o755))
		fatal.If(t, os.WriteFile(file, data, 0o600))
		m.files["lake/"+name] = &fstest.MapFile{Data: data}
	}
	pipelinetest.TestSource(t, func(t *testing.T) pipeline.Source {
		return open(t, lake.Config{Features: used, Target: "Y", Paths: []string{"lake"}, Store: m})
	})
	for _, paths := range [][]string{{"lake"}, {"lake/day=2", "lake/day=1/b.parquet"}, {"lake/*/[ac].parquet"}} {
		var there []string
		for _, p := range paths {
			there = append(there, filepath.Join(dir, filepath.FromSlash(p)))
		}
		far, near := open(t, lake.Config{Features: used, Target: "Y", Paths: paths, Store: m}), open(t, lake.Config{Features: used, Target: "Y", Paths: there})
		if a, b := far.Columns(), near.Columns(); !slices.Equal(a, b) || !slices.Contains(a, "day") {
			t.Fatalf("%q: columns %q, on disk %q", paths, a, b)
		}
		if a, b := len(far.Shards()), len(near.Shards()); a != b {
			t.Fatalf("%q: %d shards, on disk %d", paths, a, b)
		}
		for i := range near.Shards() {
			_, a := pipelinetest.Read(t, far, i)
			_, b := pipelinetest.Read(t, near, i)
			if !slices.Equal(a, b) {
				t.Errorf("%q, shard %d: other rows than on disk", paths, i)
			}
		}
	}
	if n := m.open.Load(); n != 0 {
		t.Errorf("%d blobs are still open", n)
	}
	// A file that changes between two readings is noticed in any store.
	src := open(t, lake.Config{Features: used, Target: "Y", Paths: []string{"lake/day=1"}, Store: m})
	m.files["lake/day=1/a.parquet"] = m.files["lake/day=2/c.parquet"]
	if _, err := src.Open(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("Open of a file that was replaced: %v", err)
	}
}
