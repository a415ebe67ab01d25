package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// instructions hide instruction sets from a process: none, AVX-512, AVX2 too.
var instructions = []string{"", "GODEBUG=cpu.avx512f=off", "GODEBUG=cpu.avx2=off"}

// trainedParts trains a job without its last pass, and makes the given number of parts,
// each by a process of its own, at the same time, with instruction sets in turn.
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
	dir := t.TempDir()
	smallLake(t, dir)
	for name, job := range map[string]jobFile{"copies counted": {}, "copies dropped": {"copies": "drop"}} {
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

// The commands of the Indexed Job, as processes, make all parts of the pass.
func TestIndexedJob(t *testing.T) {
	t.Parallel()
	dir, whole := t.TempDir(), t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	succeed(t, "train", "-c", job, "-o", whole)
	succeed(t, "train", "-c", job, "--no-pass")
	fatal.If(t, os.Mkdir(filepath.Join(dir, "parts"), 0o700))
	spec := at(t, manifests(t, "parts/last-pass.yaml")["Job"], "spec")
	certify := []string{"certify", "-c", job}
	var running sync.WaitGroup
	for i := range at(t, spec, "completions").(uint64) {
		var args []string
		for _, arg := range at(t, spec, "template.spec.containers.0.args").([]any) {
			args = append(args, strings.NewReplacer("$(JOB_COMPLETION_INDEX)", fmt.Sprint(i), "/pass/", dir+"/").Replace(arg.(string)))
		}
		certify = append(certify, args[len(args)-1])
		cmd := child(t, order{Args: args})
		running.Go(func() {
			if log, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%q: %v: %s", args, err, log)
			}
		})
	}
	running.Wait()
	succeed(t, certify...)
	if diff := cmp.Diff(published(t, whole), published(t, filepath.Join(dir, "out"))); diff != "" {
		t.Errorf("other bytes than in one piece (-want +got):\n%.2000s", diff)
	}
}

// What is wrong with parts is told with the file, and nothing is published.
func TestWrongPartsAreRefused(t *testing.T) {
	repeats(t)
	dir, elsewhere := t.TempDir(), t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	parts := trainedParts(t, job, dir, 2)
	smallLake(t, elsewhere)
	foreign := trainedParts(t, tiny(jobFile{"train": "{passes: 2, seed: 9}"}).write(t, elsewhere), t.TempDir(), 2)
	again := trainedParts(t, tiny(nil).write(t, elsewhere), elsewhere, 2)
	data := readFile(t, parts[1])
	cut, flipped := filepath.Join(dir, "cut"), filepath.Join(dir, "flipped")
	writeFile(t, cut, data[:len(data)/2])
	writeFile(t, flipped, flip(data, len(data)/2, 3))
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"missing":             {[]string{"certify", "-c", job, parts[0]}, exitFailure, "is a part missing?"},
		"twice":               {[]string{"certify", "-c", job, parts[0], parts[0], parts[1]}, exitFailure, parts[0] + ": parts of a pass: shard 1 of 3 was read twice"},
		"of another model":    {[]string{"certify", "-c", job, parts[0], foreign[1]}, exitFailure, foreign[1] + ": parts of a pass: one is of another"},
		"all of another":      {append([]string{"certify", "-c", job}, foreign...), exitFailure, "of another"},
		"of another run":      {[]string{"certify", "-c", job, parts[0], again[1]}, exitFailure, "another run of training"},
		"cut":                 {[]string{"certify", "-c", job, parts[0], cut}, exitFailure, cut + ": parts of a pass: its checksum"},
		"flipped":             {[]string{"certify", "-c", job, parts[0], flipped}, exitFailure, flipped + ": parts of a pass: its checksum"},
		"no part":             {[]string{"certify", "-c", job, job}, exitFailure, "no part"},
		"absent":              {[]string{"certify", "-c", job, parts[0], filepath.Join(dir, "nothing")}, exitFailure, "nothing"},
		"of none":             {[]string{"certify", "-c", job}, exitUsage, "PART"},
		"part beyond":         {[]string{"pass", "-c", job, "--part", "3/2", "-o", cut}, exitUsage, "--part"},
		"part below":          {[]string{"pass", "-c", job, "--part", "-1/2", "-o", cut}, exitUsage, "--part"},
		"part of none":        {[]string{"pass", "-c", job, "--part", "0/0", "-o", cut}, exitUsage, "--part"},
		"no output":           {[]string{"pass", "-c", job, "--part", "1/2"}, exitUsage, "-o"},
		"another job":         {[]string{"pass", "-c", job, "--delta", "0.02", "-o", cut}, exitConfig, "trained for another job than this one: delta is 0.02 here, and 0.05 was there"},
		"nothing was trained": {[]string{"pass", "-c", job, "--from", t.TempDir(), "-o", cut}, exitFailure, "--no-pass"},
	} {
		t.Run(name, func(t *testing.T) {
			a := pacsgp(t, c.args...)
			if a.status != c.status || !strings.Contains(a.message, c.want) {
				t.Errorf("status %d, want %d, message %q, want %q in it", a.status, c.status, a.message, c.want)
			}
		})
	}
	for name := range published(t, filepath.Join(dir, "out")) {
		if strings.HasPrefix(name, "certificate-") || strings.HasPrefix(name, "model-") {
			t.Errorf("%s is published", name)
		}
	}
	succeed(t, append([]string{"certify", "-c", job}, parts...)...) // and all is still there
}
