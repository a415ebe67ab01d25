package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// lotOf writes so many rows of a sine and a shift.
func lotOf(t *testing.T, dir, name string, rows int, shift float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(name)), uint64(rows)))
	x1, x2, y := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		x1[i], x2[i] = rng.Float64(), rng.Float64()
		y[i] = math.Sin(4*x1[i]) + shift + 0.05*rng.NormFloat64()
	}
	table{"x1": x1, "x2": x2, "y": y}.write(t, filepath.Join(dir, "lake", name+".parquet"))
}

// New rows first test the current model, and then train the next one.
func TestNewRowsTestFirst(t *testing.T) {
	dir := t.TempDir()
	lotOf(t, dir, "a", 400, 10)
	s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]", "files: new"))
	s.at(t, someDay)
	first := s.at(t, someDay.Add(time.Hour))
	if first == nil || !first.Scheduled.Current || first.Scheduled.Tested != "" {
		t.Fatalf("the first run: %+v", first)
	}
	lotOf(t, dir, "bb", 300, 0) // the source has changed
	second := s.at(t, someDay.Add(2*time.Hour))
	if of := second.Scheduled; !of.Current || !strings.Contains(of.Tested, "alarm: ") || !strings.Contains(of.Tested, "in 300 of 300 labelled rows") {
		t.Fatalf("the second run: %+v", second)
	}
	if n := second.Scheduled.Test; n == nil || n.Certificate != schedule.Certificate(first) || n.Rows != 300 || n.Loss != 1 || !n.Alarm {
		t.Errorf("in numbers: %+v", n)
	}
	// The next rows test the new one.
	lotOf(t, dir, "dddd", 100, 0)
	if third := s.at(t, someDay.Add(3*time.Hour)); strings.Contains(third.Scheduled.Tested, "alarm") || !strings.Contains(third.Scheduled.Tested, "of 100 labelled rows") {
		t.Errorf("the third run: %+v", third)
	}
	back := pacsgp(t, "promote", schedule.Certificate(first), filepath.Join(dir, "out"))
	if back.status != 0 || !strings.Contains(back.log, "the rows of run 2 of waves have contradicted this certificate (alarm: ") {
		t.Errorf("made current again: %+v", back)
	}
}

// Files of the sample of a model with groups are no new rows, by the columns that the sample has.
func TestRowsOfGroupsAreKnown(t *testing.T) {
	dir := t.TempDir()
	texts := make([]string, 400)
	for i := range texts {
		texts[i] = []string{"AA", "WN"}[i%2]
	}
	rows := lines(400).with("g", texts)
	rows.write(t, filepath.Join(dir, "lake", "a.parquet"))
	s := onStage(t, writeSchedule(t, dir, tiny(jobFile{"groups": "{column: g, values: [AA]}", "roles": "{holdout: 30 %}"}).write(t, dir), "triggers: [{every: 1h}]", "promote: {within: 0.000001 %}"))
	s.at(t, someDay)
	s.at(t, someDay.Add(time.Hour))
	fatal.If(t, os.Rename(filepath.Join(dir, "lake", "a.parquet"), filepath.Join(dir, "lake", "b.parquet")))
	lines(100).with("g", texts[:100]).write(t, filepath.Join(dir, "lake", "c.parquet"))
	if of := s.at(t, someDay.Add(2*time.Hour)).Scheduled; !strings.Contains(of.Tested, "of 100 labelled rows") {
		t.Errorf("%+v", of)
	}
}

// A training file that was only written anew, in other row groups, has no new rows.
func TestFilesWrittenAnewTestNothing(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]"))
	s.at(t, someDay)
	s.at(t, someDay.Add(time.Hour))
	fatal.If(t, os.RemoveAll(filepath.Join(dir, "lake")))
	fatal.If(t, smallRows(t).WriteLake(t.Context(), filepath.Join(dir, "lake"), 1, 0, 180))
	second := s.at(t, someDay.Add(2*time.Hour))
	if second == nil || !strings.Contains(second.Scheduled.Tested, "no labelled row has come yet") {
		t.Fatalf("written anew: %+v", second)
	}
	addFile(t, dir, "more", 180, 60)
	third := s.at(t, someDay.Add(3*time.Hour))
	if third == nil || !strings.Contains(third.Scheduled.Tested, "of 60 labelled rows") {
		t.Fatalf("with new rows: %+v", third)
	}
	addFile(t, dir, "more", 180, 90) // with the rows that it had
	fourth := s.at(t, someDay.Add(4*time.Hour))
	if fourth == nil || !strings.Contains(fourth.Scheduled.Tested, "no labelled row has come yet") || !slices.ContainsFunc(s.said, func(text string) bool { return strings.Contains(text, "was written again") }) {
		t.Errorf("a file that has grown: %+v; %q", fourth, s.said)
	}
	// Merged under another name: the current model was trained on all of them.
	fatal.If(t, os.RemoveAll(filepath.Join(dir, "lake")))
	addFile(t, dir, "merged", 0, 270)
	if merged := s.at(t, someDay.Add(5*time.Hour)); merged == nil || !strings.Contains(merged.Scheduled.Tested, "no labelled row has come yet") {
		t.Errorf("merged: %+v", merged)
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
