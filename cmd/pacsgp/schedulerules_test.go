package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A challenger waits until there are rows that are new to both, and is compared on them; a
// bad row among them that the job tolerates is left out. What came of it stands in the
// record of its run.
func TestComparedOnNewRows(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"bad_rows": "{tolerance: 10 %}"}).write(t, dir)
	s := onStage(t, writeSchedule(t, dir, job, "triggers: [{every: 1h}]", "promote: {on_new_rows: 30}"), true)
	s.at(t, someDay)
	first := s.at(t, someDay.Add(time.Hour))
	if first == nil || !first.Current {
		t.Fatalf("the first run: %+v", first)
	}
	addFile(t, dir, "more", 180, 60)
	second := s.at(t, someDay.Add(2*time.Hour))
	if second == nil || second.Current || !strings.Contains(second.Why, "waits for rows that are new to both: there are 0 of 30") {
		t.Fatalf("the second run: %+v", second)
	}
	x, y := make([]any, 40), make([]float64, 40)
	for i := range x {
		x[i], y[i] = float64(i)/40, math.Sin(float64(i))
	}
	x[7] = nil
	table{"x1": x, "x2": y, "y": y}.write(t, filepath.Join(dir, "lake", "new", "part-0.parquet"))
	s.at(t, someDay.Add(2*time.Hour+time.Minute))
	run, err := s.record.run(second.Number)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(run.Why, "on 39 rows that are new to both it loses") {
		t.Errorf("the record says %q; %q", run.Why, s.said)
	}
	p, err := sinklake.ReadPointer(nil, filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]string{true: second.Certificate, false: first.Certificate}[run.Current]; p.ID != want {
		t.Errorf("%.8s is current, the record says that of the second run: %v", p.ID, run.Current)
	}
	if known, err := s.record.job("waves"); err != nil || known.Waiting != "" {
		t.Errorf("%q still waits, %v", known.Waiting, err)
	}
}

// within_limit makes current what is certified below the job's limit, and nothing else.
func TestWithinTheLimit(t *testing.T) {
	for limit, current := range map[string]bool{"0.99": true, "0.000001": false} {
		dir := t.TempDir()
		smallLake(t, dir)
		job := tiny(jobFile{"limit": limit}).write(t, dir)
		s := onStage(t, writeSchedule(t, dir, job, "triggers: [{every: 1h}]", "promote: within_limit"), true)
		s.at(t, someDay)
		run := s.at(t, someDay.Add(time.Hour))
		if run == nil || run.Current != current || (*run.Exit == 0) != current {
			t.Errorf("limit %s: %+v", limit, run)
		}
	}
}

// A run that takes longer, or more memory, than its schedule gives it fails.
func TestLimitsOfARun(t *testing.T) {
	for limit, want := range map[string]string{"time: 1ns": "longer than the 1ns", "memory: 1MiB": "of memory"} {
		dir := t.TempDir()
		smallLake(t, dir)
		s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]", limit), true)
		s.at(t, someDay)
		if run := s.at(t, someDay.Add(time.Hour)); run == nil || run.State != pipeline.StateFailed || !strings.Contains(run.Fault, want) {
			t.Errorf("%s: %+v", limit, run)
		}
	}
}

// New files that cannot be chosen are not looked at again at every poll; once they can,
// they are.
func TestFilesThatCannotBeChosen(t *testing.T) {
	dir := t.TempDir()
	addFile(t, dir, "day=2026-04-30", 0, 60)
	addFile(t, dir, "day=someday", 60, 60)
	s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{rows: 100}]", "files: {last: 30d, key: day}"), false)
	runs := 0
	for minute := range 60 {
		if run := s.at(t, someDay.Add(time.Duration(minute)*time.Minute)); run != nil {
			if runs++; run.State != pipeline.StateFailed || !strings.Contains(run.Fault, "is no date") {
				t.Fatalf("%+v", run)
			}
		}
	}
	if runs != 6 { // after 0, 1, 3, 7, 15 and 31 minutes
		t.Errorf("%d runs in an hour", runs)
	}
	if err := os.Rename(filepath.Join(dir, "lake", "day=someday"), filepath.Join(dir, "lake", "day=2026-05-01")); err != nil {
		t.Fatal(err)
	}
	if run := s.at(t, someDay.Add(2*time.Hour)); run == nil || len(s.trains) != 1 {
		t.Errorf("%+v", run)
	}
}

// The record of runs can be read while a scheduler has it.
func TestRunsWhileTheSchedulerRuns(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]")
	s := onStage(t, path, false)
	s.at(t, someDay)
	run := s.at(t, someDay.Add(time.Hour))
	if said := succeed(t, "schedule", "-c", path, "--runs").stdout; run == nil || !strings.Contains(said, `"number": 1`) {
		t.Errorf("it says %s", said)
	}
}
