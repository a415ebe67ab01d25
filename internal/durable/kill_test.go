package durable_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// lockVariable makes this test binary take the lock of a folder, begin a file there, and
// wait for its end.
const lockVariable = "PACSGP_DURABLE_LOCK"

func TestMain(m *testing.M) {
	dir := os.Getenv(lockVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	_, err := durable.OS{}.Lock(filepath.Join(dir, ".lock"))
	if err == nil {
		_, err = durable.Create(durable.OS{}, filepath.Join(dir, "file"))
	}
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent is
}

// A lock holds while its process lives, and goes with it: SIGKILL needs no clean-up.
func TestSIGKILLGivesLocksBack(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), lockVariable+"="+dir)
	in, err := child.StdinPipe()
	fatal.If(t, err)
	defer in.Close()
	out, err := child.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, child.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	found := func() (locked bool, entries int) {
		t.Helper()
		fatal.If(t, durable.Sweep(durable.OS{}, dir))
		lock, err := durable.OS{}.Lock(filepath.Join(dir, ".lock"))
		if err == nil {
			_ = lock.Close()
		}
		names, list := durable.OS{}.List(dir)
		if list != nil {
			t.Error(list)
		}
		return err != nil, len(names)
	}
	if locked, entries := found(); !locked || entries != 2 {
		t.Errorf("while it lives: locked %v, %d entries, want the lock and its file", locked, entries)
	}
	fatal.If(t, child.Process.Kill())
	_ = child.Wait() // it was killed
	if locked, entries := found(); locked || entries != 1 {
		t.Errorf("after its death: locked %v, %d entries, want the lock file alone", locked, entries)
	}
}
