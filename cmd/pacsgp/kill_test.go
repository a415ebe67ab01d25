package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A killer ends its own process at one operation.
type killer struct {
	order
	operations atomic.Int64
}

func (k *killer) hook(op durabletest.Operation, effect func() error) error {
	half := k.How == howHalf
	switch op.Kind {
	case durabletest.Sync, durabletest.Rename, durabletest.Remove, durabletest.SyncDir:
		if half {
			return effect()
		}
	case durabletest.Write:
		if !half {
			return effect()
		}
	default:
		return effect()
	}
	if k.operations.Add(1) != int64(k.At) {
		return effect()
	}
	fmt.Fprintln(os.Stderr, "dies", k.How, op.Kind, op.Name)
	switch k.How {
	case howHalf:
		op.Half()
	case howAfter:
		if err := effect(); err != nil {
			return err
		}
	}
	die()
	return nil
}

// die is kill -9: no deferred function runs, no buffer is flushed.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// killed reports whether err is the end of a process by SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == -1
}

// dies runs the command in a process that may die at an operation, and reports whether it came to
// its end, and where it has died.
func dies(t *testing.T, o order) (survived bool, when string) {
	t.Helper()
	log, err := child(t, o).CombinedOutput()
	if err != nil && !killed(err) {
		t.Fatalf("operation %d, %s: the process was to die and says %v: %s", o.At, o.How, err, log)
	}
	return err == nil, fmt.Sprintf("operation %d: %s", o.At, log[1+bytes.LastIndexByte(bytes.TrimSpace(log), '\n'):])
}

// published returns the artifacts in an output directory, by name.
func published(t *testing.T, out string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"model-*", "certificate-*", "log.json"} {
		for _, name := range found(t, out, pattern) {
			files[filepath.Base(name)] = string(readFile(t, name))
		}
	}
	return files
}

// complete checks an output directory after a run that came to its end: these
// artifacts and no other, one attempt, no checkpoint and nothing unfinished.
func complete(t *testing.T, when, out string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, published(t, out)); diff != "" {
		t.Errorf("%s: other artifacts than those of an uninterrupted run (-want +got):\n%.2000s", when, diff)
	}
	known := []string{".lock", sinklake.RunFile, sinklake.PlotFile, sinklake.CurrentFile}
	for _, name := range names(t, out) {
		if _, ok := want[name]; !ok && !slices.Contains(known, name) && !strings.HasPrefix(name, "run-") && !strings.HasPrefix(name, "manifest-") {
			t.Errorf("%s: %s is left over", when, name)
		}
	}
}

// whole checks an output directory after a kill: what stands under a published
// name is all there.
func whole(t *testing.T, when, out string, want map[string]string) {
	t.Helper()
	for _, name := range names(t, out) {
		data := readFile(t, filepath.Join(out, name))
		var err error
		switch {
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "checkpoint-"): // the next run refuses a damaged checkpoint
		case name == sinklake.RunFile:
			err = json.Unmarshal(data, new(pipeline.RunRecord))
		case strings.HasPrefix(name, "run-"):
			err = json.Unmarshal(data, new(pipeline.RunState))
		case strings.HasPrefix(name, "manifest-"):
			err = json.Unmarshal(data, new(pipeline.Manifest))
		case name == sinklake.CurrentFile:
			pointsToWhole(t, when, out)
		case name == sinklake.PlotFile:
			_, err = png.Decode(bytes.NewReader(data))
		case name == "log.json":
			if !strings.HasPrefix(want[name], strings.TrimSuffix(string(data), "}\n")) {
				err = fmt.Errorf("%q", data)
			}
		case want[name] != string(data):
			sum := sha256.Sum256(data)
			err = fmt.Errorf("%d bytes with SHA-256 %s, not those of an uninterrupted run", len(data), hex.EncodeToString(sum[:]))
		}
		if err != nil {
			t.Errorf("%s: %s is visible and is %v", when, name, err)
		}
	}
}

// pointsToWhole demands that what the pointer names is there.
func pointsToWhole(t *testing.T, when, out string) {
	t.Helper()
	p, err := sinklake.NewOutput(out, nil).Current()
	if err != nil || p == nil {
		t.Errorf("%s: the pointer: %v", when, err)
		return
	}
	_, digest, err := config.ReadModel(t.Context(), filepath.Join(out, sinklake.ModelName(p.Model)))
	if err != nil {
		t.Errorf("%s: the pointer names a model that is not there: %v", when, err)
	}
	c, id, err := config.ReadCertificate(t.Context(), filepath.Join(out, sinklake.CertificateName(p.ID)))
	if err != nil || id != p.ID || c.Model.Digest != digest {
		t.Errorf("%s: the pointer names %s, and there is %s of the model %s: %v", when, p.ID, id, digest, err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// uninterrupted runs a tiny job of mini-batches with a checkpoint after every
// step, and returns the job file, the artifacts and the run record.
func uninterrupted(t *testing.T, inducing string) (job string, want map[string]string, r pipeline.RunRecord) {
	t.Helper()
	dir := smallLake(t)
	job = tiny(jobFile{
		"checkpoint": "1ns", "inducing": inducing, "train": fmt.Sprintf("{passes: 1.5, seed: %d}", ofMiniBatches),
	}).write(t, dir)
	out := filepath.Join(dir, "out")
	succeed(t, "train", "-c", job)
	want = published(t, out)
	if len(want) != 4 {
		t.Fatalf("%d artifacts, want model, certificate in two forms and log.json", len(want))
	}
	complete(t, "uninterrupted", out, want)
	return job, want, record(t, out)
}

func TestKilledAtEveryOperationThenResumed(t *testing.T) {
	t.Parallel()
	repeats(t)
	job, want, first := uninterrupted(t, "8")
	stride := 1
	if testing.Short() {
		stride = 17
	}
	for _, how := range []string{howBefore, howAfter, howHalf} {
		survived := false
		for at := 1; !survived; at += stride {
			if at > 1000 {
				t.Fatalf("%s: no run survives", how)
			}
			out := t.TempDir()
			args := []string{"train", "-c", job, "-o", out}
			var when string
			survived, when = dies(t, order{Args: args, At: at, How: how})
			whole(t, when, out, want)
			succeed(t, args...)
			complete(t, when, out, want)
			least := 2 * len(first.Training.Trace)
			if how == howHalf { // writes alone, one a checkpoint
				least /= 2
			}
			if survived && at < least {
				t.Errorf("%s: only %d operations for %d steps: were there no checkpoints?", how, at, len(first.Training.Trace))
			}
		}
	}
}
