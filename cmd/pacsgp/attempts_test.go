package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// counted runs a job whose result may be of any kind and returns what its
// certificate says: which attempt on these rows, and in this log.
func counted(t *testing.T, out string, args ...string) [2]int64 {
	t.Helper()
	if a := pacsgp(t, append([]string{"train", "-o", out, "-c"}, args...)...); a.status != 0 && a.status != exitNotCertified {
		t.Fatalf("pacsgp %q: status %d: %s", args, a.status, a.message)
	}
	a := record(t, out).Attempt
	return [2]int64{a.OnTheseRows, a.InThisLog}
}

// Every bound that was seen is counted: a job interrupted in training or in its last pass
// is an attempt, and the same one when it runs again.
func TestStoppedJobsAreAttempts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	out := filepath.Join(dir, "out")
	for i, phase := range []pipeline.Phase{pipeline.PhaseTrain, pipeline.PhaseLastPass} {
		args := []string{"train", "-c", job, "--epsilon", []string{"0.6", "0.65"}[i]}
		interrupted(t, `"`+string(phase)+`"`, args...).says(t, exitInterrupted, "interrupted")
	}
	if got := counted(t, out, job); got != [2]int64{3, 3} {
		t.Errorf("after two interrupted jobs the certificate says attempt %v, want 3", got)
	}
	if got := counted(t, out, job, "--epsilon", "0.65"); got != [2]int64{2, 2} {
		t.Errorf("the interrupted job run again is attempt %v, want 2", got)
	}
}

// A damaged log is told in the first second, and nothing is trained.
func TestDamagedLogOfAttemptsStopsTheJob(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	out := filepath.Join(dir, "out")
	counted(t, out, job)
	log := filepath.Join(out, "attempts.jsonl")
	whole := readFile(t, log)
	damaged := flip(whole, len(whole)/4, 0)
	writeFile(t, log, damaged)
	a := pacsgp(t, "train", "-c", job, "--epsilon", "0.6")
	a.says(t, exitFailure, log, "damaged", "restore it from a copy, or name another log by the job's key attempts")
	if strings.Contains(a.log, `"`+string(pipeline.PhaseTrain)+`"`) || !bytes.Equal(readFile(t, log), damaged) {
		t.Error("the job has trained, or changed the log")
	}
}
