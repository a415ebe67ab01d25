package main

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Workers, processors, memory and locations change no byte of the artifacts. Mini-batches
// are the harder case: without memory every epoch reads the lake again.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	for seed, inducing := range map[int]string{0: "12", ofMiniBatches: ""} { // "": the bound finds it
		dir, mode := t.TempDir(), fmt.Sprintf("{passes: 2, seed: %d}", seed)
		smallLake(t, dir)
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
