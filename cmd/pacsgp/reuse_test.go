package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Each model that is tested on the same held-out rows pays for those before it in its output, also for
// those of jobs that were interrupted before they published. The same job again is the same
// attempt and the same use.
func TestReuseIsCountedInTheOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines(700).write(t, lakeFile(dir, 0))
	loss := "{epsilon: 34}"
	args := func(seed, output string) []string {
		job := tiny(jobFile{"loss": loss, "guarantees": "[pac-bayes, holdout]", "split": "{holdout: 20 %}", "require": "draw", "grid": "paper", "train": "{passes: 20, seed: " + seed + "}", "output": output})
		return []string{"train", "-c", job.write(t, dir)}
	}
	train := func(seed, output string, attempt int64, says string) {
		t.Helper()
		a := pacsgp(t, args(seed, output)...)
		if text := strings.Join(strings.Fields(a.stdout), " "); a.status != 0 && a.status != exitNotCertified || !strings.Contains(text, says) {
			t.Errorf("seed %s in %s: status %d, it does not say %q:\n%s%s", seed, output, a.status, says, text, a.message)
		}
		if r := record(t, filepath.Join(dir, output)); r.Attempt.OnTheseRows != attempt || r.Attempt.InThisLog != attempt {
			t.Errorf("seed %s in %s: attempt %+v, want %d", seed, output, r.Attempt, attempt)
		}
	}
	train("0", "one", 1, "first use of exactly these held-out rows")
	interrupted(t, `"`+string(job.PhaseLastPass)+`"`, args("1", "one")...).says(t, exitInterrupted, "interrupted")
	interrupted(t, `"`+string(job.PhaseTrain)+`"`, args("2", "one")...).says(t, exitInterrupted, "interrupted")
	train("3", "one", 4, "use 3 of the held-out rows")
	train("1", "one", 2, "use 2 of the held-out rows")
	train("2", "one", 3, "use 4 of the held-out rows")
	train("3", "two", 1, "first use of exactly these held-out rows")
	loss = "{kind: squared, epsilon: 100}" // a bound that stands alone
	train("4", "one", 5, "use 5 of the held-out rows")
}
