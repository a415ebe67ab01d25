package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A challenger waits until there are rows that are new to both, and is compared on them; a
// bad row among them that the job tolerates is left out. What came of it stands in the
// record of its run.
func TestComparedOnNewRows(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"bad_rows": "{tolerance: 10 %}"}).write(t, dir)
	s := onStage(t, writeSchedule(t, dir, job, "triggers: [{every: 1h}]", "promote: {on_new_rows: 30}"))
	s.at(t, someDay)
	first := s.at(t, someDay.Add(time.Hour))
	if first == nil || !first.Scheduled.Current {
		t.Fatalf("the first run: %+v", first)
	}
	addFile(t, dir, "more", 180, 60)
	second := s.at(t, someDay.Add(2*time.Hour))
	if second == nil || second.Scheduled.Current || !strings.Contains(second.Scheduled.Why, "waits for rows that are new to both: there are 0 of 30") {
		t.Fatalf("the second run: %+v", second)
	}
	x, y := make([]any, 40), make([]float64, 40)
	for i := range x {
		x[i], y[i] = float64(i)/40, math.Sin(float64(i))
	}
	x[7] = nil
	table{"x1": x, "x2": y, "y": y}.write(t, filepath.Join(dir, "lake", "new", "part-0.parquet"))
	s.at(t, someDay.Add(2*time.Hour+time.Minute))
	runs, err := s.job.Output.Runs()
	fatal.If(t, err)
	var run *pipeline.RunState
	for r := range runs {
		if r.Run == second.Run {
			run = r
		}
	}
	if !strings.Contains(run.Scheduled.Why, "on 39 rows that are new to both it loses") {
		t.Errorf("the record says %q; %q", run.Scheduled.Why, s.said)
	}
	p, err := sinklake.ReadPointer(nil, filepath.Join(dir, "out"))
	fatal.If(t, err)
	if want := map[bool]string{true: schedule.Certificate(second), false: schedule.Certificate(first)}[run.Scheduled.Current]; p.ID != want {
		t.Errorf("%.8s is current, the record says that of the second run: %v", p.ID, run.Scheduled.Current)
	}
	if known, err := s.record.Job("waves"); err != nil || known.Waiting != "" {
		t.Errorf("%q still waits, %v", known.Waiting, err)
	}
}

// within_limit makes current what is certified below the job's limit, and nothing else.
func TestWithinTheLimit(t *testing.T) {
	for limit, current := range map[string]bool{"0.99": true, "0.000001": false} {
		dir := t.TempDir()
		smallLake(t, dir)
		job := tiny(jobFile{"limit": limit}).write(t, dir)
		s := onStage(t, writeSchedule(t, dir, job, "triggers: [{every: 1h}]", "promote: within_limit"))
		s.at(t, someDay)
		run := s.at(t, someDay.Add(time.Hour))
		if run == nil || run.Scheduled.Current != current || (*run.Exit == 0) != current {
			t.Errorf("limit %s: %+v", limit, run)
		}
	}
}

// A run that takes longer, or more memory, than its schedule gives it fails.
func TestLimitsOfARun(t *testing.T) {
	for limit, want := range map[string]string{"time: 1ns": "longer than the 1ns", "memory: 1MiB": "of memory"} {
		dir := t.TempDir()
		smallLake(t, dir)
		s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]", limit))
		s.at(t, someDay)
		if run := s.at(t, someDay.Add(time.Hour)); run == nil || run.State != pipeline.StateFailed || !strings.Contains(run.Fault, want) {
			t.Errorf("%s: %+v", limit, run)
		}
	}
}

// The record of runs can be read while a scheduler has it.
func TestRunsWhileTheSchedulerRuns(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]")
	s := onStage(t, path)
	s.at(t, someDay)
	run := s.at(t, someDay.Add(time.Hour))
	if said := succeed(t, "schedule", "-c", path, "--runs").stdout; run == nil || !strings.Contains(said, `"number": 1`) {
		t.Errorf("it says %s", said)
	}
}
