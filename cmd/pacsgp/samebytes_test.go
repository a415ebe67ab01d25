package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Workers, processors, memory and locations change no byte of the artifacts. Mini-batches
// are the harder case: without memory every epoch reads the lake again.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	for seed, inducing := range map[int]string{0: "12", ofMiniBatches: ""} { // "": the bound finds it
		dir, mode := smallLake(t), fmt.Sprintf("{passes: 2, seed: %d}", seed)
		job := tiny(jobFile{"train": mode, "workers": "1", "inducing": inducing}).write(t, dir)
		reference := t.TempDir()
		succeed(t, "train", "-c", job, "-o", reference)
		want := published(t, reference)
		if len(want) != 4 {
			t.Fatalf("%s: artifacts %q, want 4", mode, slices.Collect(maps.Keys(want)))
		}
		for i, variant := range []struct{ processors, workers, memory string }{
			{"1", "1", "1GiB"}, {"1", "2", "1B"}, {"2", "1", "1B"}, {"2", "2", "1GiB"}, {"2", "5", "1B"},
		} {
			out := filepath.Join(dir, fmt.Sprintf("elsewhere-%d", i))
			cmd := child(t, order{Args: []string{"train", "-c", job, "-o", out, "--workers", variant.workers, "--memory", variant.memory}}, "GOMAXPROCS="+variant.processors)
			if log, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%+v: %v: %s", variant, err, log)
			}
			if diff := cmp.Diff(want, published(t, out)); diff != "" {
				t.Errorf("%s, %+v: other bytes than with one worker (-want +got):\n%.2000s", mode, variant, diff)
			}
			name := sinklake.ManifestName(record(t, out).ID)
			if !bytes.Equal(readFile(t, filepath.Join(reference, name)), readFile(t, filepath.Join(out, name))) {
				t.Errorf("%s, %+v: another manifest than with one worker", mode, variant)
			}
		}

		// The lake somewhere else, under other names in the same order, declared
		// file by file.
		moved := t.TempDir()
		paths := "["
		for i, name := range []string{"one.parquet", "three.parquet", "two.parquet"} {
			writeFile(t, filepath.Join(moved, "elsewhere", name), readFile(t, lakeFile(dir, i)))
			paths += "elsewhere/" + name + ", "
		}
		writeFile(t, filepath.Join(moved, "elsewhere", "_SUCCESS"), nil)
		job = tiny(jobFile{"train": mode, "inducing": inducing, "source": "{paths: " + paths + "]}", "output": "results"}).write(t, moved)
		succeed(t, "train", "-c", job)
		if diff := cmp.Diff(want, published(t, filepath.Join(moved, "results"))); diff != "" {
			t.Errorf("%s: another directory gives other bytes (-want +got):\n%.2000s", mode, diff)
		}
	}
}

// instructions hide instruction sets from a process: none, AVX-512, AVX2 too.
var instructions = []string{"", "GODEBUG=cpu.avx512f=off", "GODEBUG=cpu.avx2=off"}

// trainedParts trains a job without its last pass, and makes the given number of parts,
// each by a process of its own, at the same time, with alternating instruction sets.
func trainedParts(t *testing.T, job, dir string, n int) []string {
	t.Helper()
	succeed(t, "train", "-c", job, "--no-pass")
	paths := make([]string, n)
	var running sync.WaitGroup
	for i := range n {
		paths[i] = filepath.Join(dir, fmt.Sprintf("part-%d", i+1))
		cmd := child(t, order{Args: []string{"pass", "-c", job, "--part", fmt.Sprintf("%d/%d", i+1, n), "-o", paths[i]}}, instructions[i%len(instructions)])
		running.Go(func() {
			if log, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("part %d: %v: %s", i+1, err, log)
			}
		})
	}
	running.Wait()
	return paths
}

// Several processes that each make a part of the last pass, on several instruction sets, and one
// that certifies from their files, in any order, publish what one process does, byte for byte.
func TestPartsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	version, err := child(t, order{Args: []string{"version"}}, instructions[2]).Output()
	if err != nil || !strings.Contains(string(version), "instruction set portable") {
		t.Fatalf("without AVX2: %s, %v", version, err)
	}
	dir := smallLake(t)
	for name, job := range map[string]jobFile{"duplicates counted": {}, "duplicates dropped": {"duplicates": "drop"}} {
		t.Run(name, func(t *testing.T) {
			path := tiny(job).write(t, dir)
			whole := t.TempDir()
			succeed(t, "train", "-c", path, "-o", whole)
			want := published(t, whole)
			for n := 1; n <= 4; n++ { // the lake has three shards
				fatal.If(t, os.RemoveAll(filepath.Join(dir, "out")))
				parts := trainedParts(t, path, t.TempDir(), n)
				for name := range published(t, filepath.Join(dir, "out")) {
					if strings.HasPrefix(name, "certificate-") || strings.HasPrefix(name, "model-") {
						t.Errorf("%d parts: %s is published before all parts are there", n, name)
					}
				}
				slices.Reverse(parts)
				succeed(t, append([]string{"certify", "-c", path}, parts...)...)
				got := published(t, filepath.Join(dir, "out"))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%d parts: other bytes than in one piece (-want +got):\n%.2000s", n, diff)
				}
			}
		})
	}
}

// meanwhile runs a job during which something happens after the model file is
// written, under the hidden name that it has until there is a certificate, and
// before the last pass.
func meanwhile(t *testing.T, job string, happens func(modelFile string)) (a answer) {
	t.Helper()
	done := 0
	fsys := hooked(func(op durabletest.Operation, effect func() error) error {
		err := effect()
		if done == 0 && op.Kind == durabletest.Sync && bytes.HasPrefix(readFile(t, op.Name), []byte("PAR1")) { // the first file of Parquet
			done++
			happens(op.Name)
		}
		return err
	})
	a = pacsgpOn(t, fsys, "train", "-c", job)
	if done != 1 {
		t.Fatalf("no model file was written: %s", a.message)
	}
	return a
}

// withoutCertificate demands that a run was refused for this reason and left
// no certificate.
func withoutCertificate(t *testing.T, a answer, out string, words ...string) {
	t.Helper()
	if a.status != exitFailure || a.stdout != "" {
		t.Errorf("status %d, want %d; stdout %q", a.status, exitFailure, a.stdout)
	}
	holds(t, a.message, words...)
	for name := range published(t, out) {
		if strings.HasPrefix(name, "certificate-") {
			t.Errorf("%s is published", name)
		}
	}
	if _, err := os.Stat(filepath.Join(out, sinklake.RunFile)); err == nil {
		t.Error("a run record is published")
	}
}

func TestRowsChangedBeforeLastPass(t *testing.T) {
	repeats(t)
	rows := lines(90)
	for name, c := range map[string]struct {
		happens func(t *testing.T, dir string)
		words   []string
	}{
		"one target": {func(t *testing.T, dir string) {
			y := slices.Clone(rows["y"].([]float64))
			y[3] = -y[3]
			rows.with("y", y).slice(0, 45).write(t, lakeFile(dir, 0))
		}, []string{"changed since training", "digest"}},
		"a row more": {func(t *testing.T, dir string) {
			lines(91).slice(45, 91).write(t, lakeFile(dir, 1))
		}, []string{"changed since training", "digest"}},
		"files exchanged": {func(t *testing.T, dir string) {
			rows.slice(45, 90).write(t, lakeFile(dir, 0))
			rows.slice(0, 45).write(t, lakeFile(dir, 1))
		}, []string{"changed since training", "digest"}},
		"a column less": {func(t *testing.T, dir string) {
			rest := rows.slice(45, 90)
			delete(rest, "x2")
			rest.write(t, lakeFile(dir, 1))
		}, []string{"part-01.parquet", `no column "x2"`}},
		"a value lost": {func(t *testing.T, dir string) {
			part := rows.slice(45, 90)
			gaps := make([]any, 45)
			for i, v := range part["x2"].([]float64)[:44] {
				gaps[i] = v
			}
			part.with("x2", gaps).write(t, lakeFile(dir, 1))
		}, []string{"part-01.parquet", "row 44", `"x2"`, "null"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func() {
				rows.slice(0, 45).write(t, lakeFile(dir, 0))
				rows.slice(45, 90).write(t, lakeFile(dir, 1))
			}
			write()
			job := tiny(jobFile{"loss": "{epsilon: 8}"}).write(t, dir)
			out := filepath.Join(dir, "out")
			withoutCertificate(t, meanwhile(t, job, func(string) { c.happens(t, dir) }), out, c.words...)

			// The old rows again: the run goes on from where it was.
			fatal.If(t, os.RemoveAll(filepath.Join(dir, "lake")))
			write()
			if a := pacsgp(t, "train", "-c", job); a.status != 0 && a.status != exitNotCertified {
				t.Fatal(a.message)
			}
			if r := record(t, out); r.Attempt.OnTheseRows != 1 || !r.Training.Resumed {
				t.Errorf("on the old rows again: attempt %+v, resumed %v; want the first one, resumed", r.Attempt, r.Training.Resumed)
			}
		})
	}
}
