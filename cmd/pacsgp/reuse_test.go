package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Each model that is judged by the same held-out rows pays for those before it in its output, also for
// those of jobs that were interrupted before they published. The same job again is the same
// attempt and the same use.
func TestReuseIsCountedInTheOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines(700).write(t, lakeFile(dir, 0))
	loss := "{epsilon: 34}"
	args := func(seed, output string) []string {
		job := tiny(jobFile{"loss": loss, "guarantees": "[pac-bayes, holdout]", "roles": "{holdout: 20 %}", "require": "draw", "grid": "paper", "train": "{passes: 20, seed: " + seed + "}", "output": output})
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
	train("0", "one", 1, "First use of these rows by the log of this output, which knows identical rows alone.")
	interrupted(t, `"`+string(pipeline.PhaseLastPass)+`"`, args("1", "one")...).says(t, exitInterrupted, "interrupted")
	interrupted(t, `"`+string(pipeline.PhaseTrain)+`"`, args("2", "one")...).says(t, exitInterrupted, "interrupted")
	train("3", "one", 4, "Use 3 of these rows by the log of this output, which knows identical rows alone.")
	train("1", "one", 2, "Use 2 of these rows")
	train("2", "one", 3, "Use 4 of these rows")
	train("3", "two", 1, "First use of these rows")
	loss = "{kind: squared, epsilon: 100}" // a bound that stands alone
	train("4", "one", 5, "Use 5 of these rows")
}
