package lake_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// killVariable makes this test binary run the job in a directory and die at
// an operation: "<directory>\n<operation>\n<before|half|after>". With a fourth
// line it only records attempts: "<log>\n<operation>\n…\n<first>-<last>".
const killVariable = "PACSGP_LAKE_KILL"

func TestMain(m *testing.M) {
	if order := os.Getenv(killVariable); order != "" {
		part := strings.Split(order, "\n")
		at, err := strconv.Atoi(part[1])
		if err == nil {
			k := &killFS{at: at, how: part[2]}
			if len(part) > 3 {
				err = recordAttempts(part[0], part[3], k)
			} else {
				err = job(part[0], k)
			}
			fmt.Fprintln(os.Stdout, k.operations)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A killFS is the real file system, under a process that kills itself.
type killFS struct {
	durable.OS
	operations int
	at         int
	how        string // before, half (of a write), after
}

func (k *killFS) step(effect func() error) error {
	k.operations++
	if k.operations == k.at && k.how == "before" {
		die()
	}
	err := effect()
	if k.operations == k.at {
		die()
	}
	return err
}

// die is kill -9: no deferred function runs, no buffer is flushed.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

func (k *killFS) CreateTemp(dir string) (f durable.File, err error) {
	err = k.step(func() error { f, err = k.OS.CreateTemp(dir); return err })
	return killFile{f, k}, err
}

func (k *killFS) Append(name string) (f durable.File, err error) {
	err = k.step(func() error { f, err = k.OS.Append(name); return err })
	return killFile{f, k}, err
}

func (k *killFS) Truncate(name string, size int64) error {
	return k.step(func() error { return k.OS.Truncate(name, size) })
}

func (k *killFS) Rename(oldName, newName string) error {
	return k.step(func() error { return k.OS.Rename(oldName, newName) })
}

func (k *killFS) Remove(name string) error {
	return k.step(func() error { return k.OS.Remove(name) })
}

func (k *killFS) SyncDir(dir string) error {
	return k.step(func() error { return k.OS.SyncDir(dir) })
}

type killFile struct {
	durable.File
	fs *killFS
}

func (f killFile) Write(b []byte) (n int, err error) {
	err = f.fs.step(func() error {
		if f.fs.operations == f.fs.at && f.fs.how == "half" {
			b = b[:len(b)/2]
		}
		n, err = f.File.Write(b)
		return err
	})
	return n, err
}

func (f killFile) Sync() error { return f.fs.step(f.File.Sync) }

// runChild runs the job in a process of its own and returns what it prints.
func runChild(t *testing.T, dir string, at int, how string, more ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	order := append([]string{dir, strconv.Itoa(at), how}, more...)
	cmd.Env = append(os.Environ(), killVariable+"="+strings.Join(order, "\n"))
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, name := range files {
		if strings.HasPrefix(filepath.Base(name), ".") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seen[filepath.Base(name)] = string(content)
	}
	return seen
}

func TestSIGKILLAtEveryOperationLeavesWholeFiles(t *testing.T) {
	start := func(dir string) map[string]string {
		d, err := lake.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.AttemptLog().Record(t.Context(), oldAttempt); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Put("run.json", []byte("the older run record")), d.Close()); err != nil {
			t.Fatal(err)
		}
		return readAll(t, dir)
	}
	dir := t.TempDir()
	before := start(dir)
	out, err := runChild(t, dir, 0, "never")
	if err != nil {
		t.Fatalf("the job itself: %v: %s", err, out)
	}
	want := readAll(t, dir)
	operations, err := strconv.Atoi(out)
	if err != nil || operations < 30 {
		t.Fatalf("the job says %q, want its number of operations", out)
	}
	for at := 1; at <= operations; at++ {
		for _, how := range []string{"before", "half", "after"} {
			when := fmt.Sprintf("killed at operation %d of %d, %s", at, operations, how)
			dir := t.TempDir()
			start(dir)
			out, err := runChild(t, dir, at, how)
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != -1 {
				t.Fatalf("%s: the job was to die and says %v: %s", when, err, out)
			}
			wholeOrAbsent(t, when, readAll(t, dir), before, want)
			if err := job(dir, nil); err != nil {
				t.Fatalf("%s: run again: %v", when, err)
			}
			if diff := cmp.Diff(want, readAll(t, dir)); diff != "" {
				t.Errorf("%s: other files after a run again (-want +got):\n%s", when, diff)
			}
			if hidden := leftovers(t, dir); len(hidden) > 0 {
				t.Errorf("%s: leftovers %q", when, hidden)
			}
		}
	}
}

func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var hidden []string
	for _, name := range names {
		if strings.HasSuffix(name, durable.TempSuffix) {
			hidden = append(hidden, name)
		}
	}
	return hidden
}
