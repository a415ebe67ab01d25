package main

import (
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// What a hand types first: a job file without a flag, a path where the section source has its
// keys, a kernel by its family, and an output directory for what is current in it.
func TestShortForms(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"source": "lake/", "kernel": "matern-5/2", "delta": "5 %"}).write(t, dir)
	out, lake := filepath.Join(dir, "out"), filepath.Join(dir, "lake")
	pacsgp(t, "predict", dir, lake, "-o", filepath.Join(dir, "p.parquet")).says(t, exitFailure, "nothing is current")
	succeed(t, "plan", job)
	succeed(t, "train", job)
	short, err := filepath.Glob(filepath.Join(out, "model-*.parquet"))
	fatal.If(t, err)
	long, err := filepath.Glob(filepath.Join(out, "certificate-*.json"))
	fatal.If(t, err)
	for _, artifact := range [][]string{{out}, {short[0], long[0]}} {
		with := func(command string, rest ...string) []string {
			return append(append([]string{command}, artifact...), rest...)
		}
		succeed(t, with("verify", lake, "--judge", "draw")...)
		succeed(t, with("predict", lake, "-o", filepath.Join(dir, "p.parquet"))...)
		succeed(t, with("watch", lake, "--state", filepath.Join(dir, "watch"))...)
	}
	if got := succeed(t, "inspect", out).stdout; got != succeed(t, "inspect", long[0]).stdout {
		t.Errorf("of the directory inspect says\n%s", got)
	}
	pacsgp(t, "train", job, "-c", job).says(t, exitUsage, "want the job file, once")
	pacsgp(t, "verify", short[0]).says(t, exitUsage, "want MODEL and CERTIFICATE")
}
