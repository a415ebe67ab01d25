package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/report"
)

// childVariable makes this test binary be the command, as an [order] says.
const childVariable = "PACSGP_COMMAND_TEST_CHILD"

// An order is what a child process does: the command's arguments and, if At is
// not 0, at which operation on the file system it dies.
type order struct {
	Args []string
	At   int
	How  string
}

// How a child dies at an operation: before it or after it, or in the middle of a write.
const (
	howBefore = "before"
	howAfter  = "after"
	howHalf   = "half"
)

// apache is the broker that the tests against a real one share.
var apache brokertest.Shared

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		scripted(tests(func() int { return apache.Main(m) }))
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	k := &killer{order: o}
	spareMemory()
	w := testSystem(os.Stdout, os.Stderr, hooked(k.hook))
	err := run(context.Background(), o.Args, w)
	if err != nil {
		explain(os.Stderr, 0, err)
		os.Exit(status(err))
	}
	os.Exit(0)
}

func testSystem(stdout, stderr io.Writer, fsys durable.FS) system {
	return system{
		stdout: stdout, stderr: stderr, fs: fsys, style: report.Style{}, log: newLogging(),
		demo:   demoSize{rows: 900, fresh: 300, files: 2, inducing: 16},
		lookup: func(string) (string, bool) { return "", false },
		change: func(j *job.Job) {
			if j.Train.Seed == ofMiniBatches {
				j.Train.Batch, j.Train.Buffer = 60, 90
			}
		},
	}
}

// ofMiniBatches is the seed of jobs that train by mini-batches, although their rows are few.
const ofMiniBatches = 6090

// child prepares a process of its own that obeys the order.
func child(t *testing.T, o order, environment ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(o)
	fatal.If(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), environment...), childVariable+"="+string(text))
	return cmd
}

// An answer is what one call of the command said.
type answer struct {
	stdout  string
	log     string // stderr while it ran
	message string // what main prints about the error
	status  int
}

// pacsgp calls the command in this process.
func pacsgp(t testing.TB, args ...string) answer {
	t.Helper()
	return pacsgpOn(t, plain(), args...)
}

func pacsgpOn(t testing.TB, fsys durable.FS, args ...string) answer {
	t.Helper()
	var stdout, log, message bytes.Buffer
	err := run(t.Context(), append([]string{}, args...), testSystem(&stdout, &log, fsys)) // cobra takes those of the test for nil
	a := answer{stdout: stdout.String(), log: log.String()}
	if err != nil {
		explain(&message, 0, err)
		a.status, a.message = status(err), message.String()
	}
	return a
}

// succeed calls the command, which has to end with status 0.
func succeed(t testing.TB, args ...string) answer {
	t.Helper()
	a := pacsgp(t, args...)
	if a.status != 0 {
		t.Fatalf("pacsgp %q: status %d: %s", args, a.status, a.message)
	}
	return a
}

// A jobFile is a job as the tests vary it: key and value in YAML. A key without a value is left out.
type jobFile map[string]string

// tiny is a job of some 14 steps that takes a fraction of a second and ends certified on [smallLake].
func tiny(change jobFile) jobFile {
	j := jobFile{
		"source": "{paths: [lake]}", "target": "y", "loss": "{epsilon: 0.7}", "delta": "0.05",
		"inducing": "12", "train": "{passes: 2}", "output": "out",
	}
	maps.Copy(j, change)
	return j
}

// write writes the job into dir and returns its path.
func (j jobFile) write(t testing.TB, dir string) string {
	t.Helper()
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(j)) {
		if j[key] != "" {
			fmt.Fprintf(&text, "%s: %s\n", key, j[key])
		}
	}
	if j["require"] == "" { // of so few rows little can be said about the mean
		text.WriteString("require: draw\n")
	}
	path := filepath.Join(dir, "job.yaml")
	writeFile(t, path, []byte(text.String()))
	return path
}

// smallLake returns a new folder whose lake has 180 rows of a smooth function of x1 and x2 in three files.
func smallLake(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	fatal.If(t, smallRows(t).WriteLake(t.Context(), filepath.Join(dir, "lake"), 3, 0, 180))
	return dir
}

// smallRows makes the rows of [smallLake].
func smallRows(t testing.TB) *synth.Generator {
	t.Helper()
	g, err := synth.New(synth.Config{Seed: smallSeed, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	return g
}

// smallSeed draws long lengthscales.
const smallSeed = 22

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o755))
	fatal.If(t, os.WriteFile(path, data, 0o644))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	fatal.If(t, err)
	return data
}

// record reads the run record of an output directory.
func record(t *testing.T, out string) (r pipeline.RunRecord) {
	t.Helper()
	fatal.If(t, json.Unmarshal(readFile(t, filepath.Join(out, sinklake.RunFile)), &r))
	return r
}

// repeats marks a test that runs one job again and again: the race detector
// learns nothing from that, and takes minutes.
func repeats(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("repeats one job: left out under the race detector")
	}
}
