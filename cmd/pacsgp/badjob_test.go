package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/lake"
)

func TestOutputInUse(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	other, err := lake.Open(out, nil)
	fatal.If(t, err)
	job := tiny(nil).write(t, dir)
	pacsgp(t, "train", "-c", job).says(t, exitFailure, "in use", "hint: wait for the other process")
	fatal.If(t, other.Close())
	succeed(t, "train", "-c", job)
}

// A full disk or a failing one stops a job at each operation, one after another. What stands under a
// published name is whole, no model is seen without a certificate, nothing unfinished is left,
// and once the disk works again the same command gives the same bytes.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	repeats(t)
	job, want, _ := uninterrupted(t, "8")
	stride := 1
	if testing.Short() {
		stride = 17
	}
	for kind, failure := range map[string]error{
		durabletest.Write: syscall.ENOSPC, durabletest.Sync: syscall.ENOSPC, durabletest.Create: syscall.EDQUOT,
		durabletest.Rename: syscall.EIO, durabletest.SyncDir: syscall.EIO, durabletest.Remove: syscall.EIO,
	} {
		at := 1
		for fails(t, job, want, kind, failure, at) {
			at += stride
		}
	}
}

// fails runs a job whose operation at and all later ones of that kind fail, and then
// again. It reports whether there were as many.
func fails(t *testing.T, job string, want map[string]string, kind string, failure error, at int) bool {
	t.Helper()
	out, done, failed := t.TempDir(), 0, false
	broken := hooked(func(op durabletest.Operation, effect func() error) error {
		if op.Kind != kind {
			return effect()
		}
		if done++; done < at {
			return effect()
		}
		failed = true
		if op.Half != nil {
			op.Half()
		}
		return &os.PathError{Op: kind, Path: op.Name, Err: failure}
	})
	args := []string{"train", "-c", job, "-o", out}
	a := pacsgpOn(t, broken, args...)
	if !failed {
		return false
	}
	when := fmt.Sprintf("%s %d: %v", kind, at, failure)
	reported := strings.Contains(a.message, failure.Error()) && (errors.Is(failure, syscall.EIO) || strings.Contains(a.message, "hint: no space"))
	if a.status != exitFailure || a.stdout != "" || !reported {
		if kind != durabletest.Remove || a.status != 0 { // what need not be removed may stay
			t.Errorf("%s: status %d, stdout %q, message %q: want what failed and nothing else", when, a.status, a.stdout, a.message)
		}
	}
	whole(t, when, out, want)
	models, documents := 0, 0
	for _, name := range names(t, out) {
		switch {
		case strings.HasSuffix(name, durable.TempSuffix) && kind != durabletest.Remove:
			t.Errorf("%s: %s is left over", when, name)
		case strings.HasPrefix(name, "model-"):
			models++
		case strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "certificate-"):
			documents++
		}
	}
	if models > documents {
		t.Errorf("%s: %d models are seen and %d certificates", when, models, documents)
	}
	succeed(t, args...)
	complete(t, "after "+when, out, want)
	return true
}
