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
	dir := t.TempDir()
	smallLake(t, dir)
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
