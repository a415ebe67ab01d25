package durable_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// testFS checks [durable.FS] on a new file system and a folder of it that may be absent.
func testFS(t *testing.T, fresh func(t *testing.T) (fsys durable.FS, dir string)) {
	for name, check := range map[string]func(*testing.T, durable.FS, string){
		"folders": testFolders, "files": testFiles, "temporary files": testTemporary, "locks": testLocks,
	} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := fresh(t)
			fatal.If(t, fsys.MkdirAll(dir))
			check(t, fsys, dir)
		})
	}
}

func testFolders(t *testing.T, fsys durable.FS, dir string) {
	deep := filepath.Join(dir, "deep", "er")
	if _, err := fsys.List(deep); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("List of a folder that is not there: %v, want ErrNotExist", err)
	}
	if _, err := fsys.CreateTemp(deep); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CreateTemp there: %v, want ErrNotExist", err)
	}
	for range 2 {
		fatal.If(t, errors.Join(fsys.MkdirAll(deep), fsys.SyncDir(deep)))
	}
	write(t, fsys, filepath.Join(deep, "a"), "text")
	if err := fsys.MkdirAll(filepath.Join(deep, "a", "b")); err == nil {
		t.Error("MkdirAll makes a folder below a file")
	}
	if names, err := fsys.List(filepath.Dir(deep)); err != nil || !slices.Equal(names, []string{"er"}) {
		t.Errorf("List = %q, %v, want the folder", names, err)
	}
}

func testFiles(t *testing.T, fsys durable.FS, dir string) {
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "B")
	_, open := fsys.Open(a)
	for operation, err := range map[string]error{"Open": open, "Rename": fsys.Rename(a, b), "Remove": fsys.Remove(a)} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a file that is not there: %v, want ErrNotExist", operation, err)
		}
	}
	write(t, fsys, a, "one")
	write(t, fsys, b, "other")
	if names, err := fsys.List(dir); err != nil || !slices.Equal(names, []string{"B", "a"}) {
		t.Errorf("List = %q, %v, want bytewise order", names, err)
	}
	fatal.If(t, fsys.Rename(a, b))
	if got := content(t, fsys, b); got != "one" {
		t.Errorf("after Rename: %q, want one", got)
	}
	fatal.If(t, errors.Join(fsys.Remove(b), fsys.SyncDir(dir)))
	if names, err := fsys.List(dir); err != nil || len(names) > 0 {
		t.Errorf("after Remove: %q, %v", names, err)
	}
}

func testTemporary(t *testing.T, fsys durable.FS, dir string) {
	names := map[string]bool{}
	for range 3 {
		f, err := fsys.CreateTemp(dir)
		fatal.If(t, err)
		base := filepath.Base(f.Name())
		if filepath.Dir(f.Name()) != dir || names[base] || !strings.HasPrefix(base, durable.TempPrefix) || !strings.HasSuffix(base, durable.TempSuffix) {
			t.Errorf("CreateTemp makes %s", f.Name())
		}
		names[base] = true
		if _, err := fsys.Lock(f.Name()); !errors.Is(err, durable.ErrLocked) {
			t.Errorf("lock of a temporary file that is open: %v, want ErrLocked", err)
		}
		fatal.If(t, durable.Sweep(fsys, dir))
		_, err = f.Write([]byte("text"))
		fatal.If(t, err)
		fatal.If(t, errors.Join(f.Sync(), f.Close()))
		if got := content(t, fsys, f.Name()); got != "text" {
			t.Errorf("a temporary file has %q", got)
		}
	}
	fatal.If(t, durable.Sweep(fsys, dir))
	if left, err := fsys.List(dir); err != nil || len(left) > 0 {
		t.Errorf("Sweep leaves %q, %v", left, err)
	}
}

func testLocks(t *testing.T, fsys durable.FS, dir string) {
	path := filepath.Join(dir, ".lock")
	lock, err := fsys.Lock(path)
	fatal.If(t, err)
	if _, err := fsys.Lock(path); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("lock of a locked file: %v, want ErrLocked", err)
	}
	if got := content(t, fsys, path); got != "" {
		t.Errorf("a locked file has %q", got)
	}
	fatal.If(t, lock.Close())
	again, err := fsys.Lock(path) // it was given back
	fatal.If(t, err)
	fatal.If(t, again.Close())
}

func write(t *testing.T, fsys durable.FS, name, text string) {
	t.Helper()
	fatal.If(t, durable.WriteFile(fsys, name, []byte(text)))
}

func content(t *testing.T, fsys durable.FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name)
	fatal.If(t, err)
	var b bytes.Buffer
	_, err = io.Copy(&b, f)
	fatal.If(t, err)
	fatal.If(t, f.Close())
	return b.String()
}
