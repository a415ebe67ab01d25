package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Workers, processors, memory and places change no byte of the artifacts. Mini-batches
// are the harder case: without memory every epoch reads the lake again.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	smallLake(t, dir)
	for mode, inducing := range map[string]string{"{mode: full-pass, passes: 2}": "12", "{mode: mini-batch, batch: 60, buffer: 90, passes: 2}": ""} { // "": the bound finds it
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
			out := filepath.Join(dir, fmt.Sprintf("elsewhere-%d%s", i, mode[7:11]))
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

// Attempts: the same job again is the same attempt, whatever its workers and its
// place; another δ, ε, seed or key is another one.
func TestAttempts(t *testing.T) {
	repeats(t)
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	out := filepath.Join(dir, "out")
	train := func(rank int64, flags ...string) pipeline.RunRecord {
		t.Helper()
		var r pipeline.RunRecord // what it says: run.json is of the latest run that trained
		fatal.If(t, json.Unmarshal([]byte(succeed(t, append([]string{"train", "-c", job, "--json"}, flags...)...).stdout), &r))
		if r.Attempt.OnTheseRows != rank || r.Attempt.InThisLog != rank {
			t.Errorf("%q: attempt %+v, want %d", flags, r.Attempt, rank)
		}
		return r
	}
	first := train(1)
	artifacts := published(t, out)
	if again := train(1, "--workers", "2", "--memory", "1B"); again.ID != first.ID {
		t.Errorf("the same job again: certificate %s, before %s", again.ID, first.ID)
	}
	if diff := cmp.Diff(artifacts, published(t, out)); diff != "" {
		t.Errorf("the same job again changed the artifacts (-before +after):\n%.2000s", diff)
	}
	if other := train(2, "--delta", "0.1"); other.ID == first.ID {
		t.Error("another delta has the same certificate")
	}
	train(3, "--epsilon", "0.65")
	train(4, "--seed", "1")
	train(1)
	train(2, "--delta", "0.1")
	if found, err := filepath.Glob(filepath.Join(out, "certificate-*.json")); err != nil || len(found) != 4 {
		t.Errorf("%d certificates of 4 attempts (%v): %q", len(found), err, found)
	}
	elsewhere := filepath.Join(dir, "elsewhere")
	succeed(t, "train", "-c", job, "-o", elsewhere, "--delta", "0.1")
	if r := record(t, elsewhere); r.Attempt.OnTheseRows != 1 {
		t.Errorf("in another directory: attempt %+v, want 1", r.Attempt)
	}
}
