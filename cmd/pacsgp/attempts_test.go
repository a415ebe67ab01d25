package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
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

// Every bound that was seen is counted: a job interrupted or killed in training or in its last pass
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
	last := killAt(t, moment{pipeline.PhaseLastPass, 0, 0}, []string{"train", "-c", job, "--epsilon", "0.75"})
	if last.Phase == "" {
		t.Error("the killed job has said nothing")
	}
	if got := counted(t, out, job); got != [2]int64{4, 4} {
		t.Errorf("after two interrupted jobs and a killed one the certificate says attempt %v, want 4", got)
	}
	if got := counted(t, out, job, "--epsilon", "0.65"); got != [2]int64{2, 2} {
		t.Errorf("the interrupted job run again is attempt %v, want 2", got)
	}
}

// A job that fails before it has seen all rows is none.
func TestJobsWithoutAFirstPassAreNoAttempts(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	interrupted(t, `"`+string(pipeline.PhaseSurvey)+`"`, "train", "-c", tiny(nil).write(t, dir)).says(t, exitInterrupted, "interrupted")
	if got := counted(t, out, tiny(nil).write(t, dir), "--epsilon", "0.6"); got != [2]int64{1, 1} {
		t.Errorf("attempt %v, want the first", got)
	}
}

// The count does not begin anew where the same rows come in other row groups,
// files or order, or beside other features.
func TestSameRowsInAnotherFormAreCounted(t *testing.T) {
	rows := lines(120)
	reversed := table{}
	for name := range rows {
		if values, ok := rows[name].([]float64); ok {
			values = slices.Clone(values)
			slices.Reverse(values)
			reversed[name] = values
		}
	}
	half := make([]float64, 120)
	for i, v := range rows["x1"].([]float64) {
		half[i] = v / 2
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	again := func(job jobFile, files ...table) [2]int64 {
		t.Helper()
		fatal.If(t, os.RemoveAll(filepath.Join(dir, "lake")))
		for i, f := range files {
			f.write(t, lakeFile(dir, i))
		}
		return counted(t, out, tiny(job).write(t, dir))
	}
	var fits []pipeline.RunRecord
	for i, c := range []struct {
		name  string
		job   jobFile
		files []table
	}{
		{"at first", nil, []table{rows}},
		{"in two files", nil, []table{rows.slice(0, 50), rows.slice(50, 120)}},
		{"in reverse order", nil, []table{reversed}},
		{"with another feature", nil, []table{rows.with("x1", half)}},
		{"without a feature", jobFile{"features": "[x1]"}, []table{rows}},
		{"with a feature left out", jobFile{"exclude": "[x1]"}, []table{rows}},
		{"with a feature more", nil, []table{rows.with("x3", half)}},
	} {
		if got, want := again(c.job, c.files...), int64(i+1); got != [2]int64{want, want} {
			t.Errorf("%s: attempt %v, want %d", c.name, got, want)
		}
		fits = append(fits, record(t, out))
	}
	// Cut into other files they are another sample, but not another fit.
	if fits[1].ID == fits[0].ID || fits[1].Model != fits[0].Model {
		t.Errorf("in two files: certificate %s, model %s; in one: %s, %s", fits[1].ID, fits[1].Model, fits[0].ID, fits[0].Model)
	}
	if got := again(nil, rows); got != [2]int64{1, 1} {
		t.Errorf("the first job again: attempt %v", got)
	}
	if got := again(nil, rows.slice(0, 119)); got != [2]int64{1, 8} {
		t.Errorf("a row less: attempt %v, want the first on these rows and the 8th in this log", got)
	}
}

// Directories that name one log count together. The path is relative to the job file.
func TestDirectoriesShareALogOfAttempts(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"attempts": "shared/attempts.jsonl"}).write(t, dir)
	for i, c := range []struct {
		out, epsilon string
		want         int64
	}{{"one", "0.7", 1}, {"other", "0.7", 1}, {"other", "0.65", 2}, {"one", "0.6", 3}} {
		if got := counted(t, filepath.Join(dir, c.out), job, "--epsilon", c.epsilon); got != [2]int64{c.want, c.want} {
			t.Errorf("job %d: attempt %v, want %d", i, got, c.want)
		}
	}
	if n := bytes.Count(readFile(t, filepath.Join(dir, "shared", "attempts.jsonl")), []byte("\n")); n != 3 {
		t.Errorf("the shared log has %d lines, want 3", n)
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
