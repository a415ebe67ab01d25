package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// diesWith runs what is due on a scheduler that dies between the end of its run and the record of
// it, and restarts it later.
func diesWith(t *testing.T, path string, meanwhile func()) *stage {
	t.Helper()
	s := onStage(t, path)
	train := s.Train
	s.Train = func(ctx context.Context, j *schedule.Job, job pipeline.Job, rows pipeline.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
		begun, kept := *how.Begun, *how.Begun.Scheduled
		o, err := train(ctx, j, job, rows, how)
		begun.Scheduled = &kept
		fatal.If(t, errors.Join(err, s.job.Out.PutRun(&begun)))
		j.Output = dead{j.Output}
		s.step = func(func() error) error { return errDies }
		return o, err
	}
	if _, err := s.Look(t.Context(), s.job.Job, someDay); err != nil && !errors.Is(err, errDies) {
		t.Fatal(err)
	}
	fatal.If(t, s.record.Close())
	meanwhile()
	return onStage(t, path)
}

// errDies is the end of a process.
var errDies = errors.New("it dies")

// A dead output records nothing.
type dead struct{ pipeline.Output }

func (dead) PutRun(*pipeline.RunState) error             { return errDies }
func (dead) PutSequence(string, pipeline.Sequence) error { return errDies }
func (dead) Point(pipeline.Current) error                { return errDies }

// What an earlier try has left is no outcome if its model is not the one it was published with.
func TestDamagedModelBehindACertificate(t *testing.T) {
	t.Parallel()
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, address, ""), "triggers: [{lag: 60}]")
	s := diesWith(t, path, func() {
		forget(t, address, "rows", 1, 30)
		models, err := filepath.Glob(filepath.Join(dir, "out", "model-*"))
		if err != nil || len(models) != 1 {
			t.Fatal(models, err)
		}
		writeFile(t, models[0], readFile(t, models[0])[:100])
	})
	if run := s.at(t, someDay.Add(time.Hour)); run.State != pipeline.StateFailed || run.Scheduled.Current || !strings.Contains(run.Fault, "of an earlier try") {
		t.Errorf("%+v; %q", run, s.said)
	}
}

// A certificate stands though retention has taken its rows before the record knew of it.
func TestRetentionBehindACertificate(t *testing.T) {
	t.Parallel()
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, address, ""), "triggers: [{lag: 60}]")
	s := diesWith(t, path, func() { forget(t, address, "rows", 1, 30) })
	if run := s.at(t, someDay.Add(time.Hour)); run.State != pipeline.StateFinished || run.Scheduled.Sequence != 1 || !run.Scheduled.Current {
		t.Errorf("%+v; %q", run, s.said)
	}
}

// An output that cannot be read stops its own job and no other.
func TestDamagedOutputStopsOneJob(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := twoJobs(t, dir)
	writeFile(t, filepath.Join(dir, "second", "certificate-of-the-paper.json"), []byte("{}")) // no certificate of ours
	for i, text := range []string{"{", "", "{}", "null", `{"format":"pacsgp-sequences/1","sequences":null}`, `{"format":"pacsgp-sequences/1","sequences":{"first":{"taken":9223372036854775807}}}`, `{"format":"pacsgp-sequences/1","sequences":{"first":{"numbers":{"a":3},"taken":2}}}`} {
		addFile(t, dir, fmt.Sprint("more", i), 180+60*int64(i), 60)
		writeFile(t, filepath.Join(dir, "first", sinklake.SequencesFile), []byte(text))
		pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "first: which numbers of its sequence are taken cannot be told", sinklake.SequencesFile, "hint:")
		if all, err := sinklake.NewOutput(filepath.Join(dir, "second"), nil).Numbered(t.Context(), "second"); err != nil || all[int64(i+1)] == "" {
			t.Errorf("%q: the other job has come to %d certificates, %v", text, len(all), err)
		}
	}
	writeFile(t, filepath.Join(dir, "second", "certificate-"+strings.Repeat("0", 64)+".json"), []byte("{"))
	if err := os.Remove(filepath.Join(dir, "second", sinklake.SequencesFile)); err != nil { // then certificates tell
		t.Fatal(err)
	}
	addFile(t, dir, "last", 900, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "certificate-0000", "hint:")
}

// A pointer that cannot be read is no reason to train again: the run has its certificate, and
// is current when the pointer is mended by hand.
func TestDamagedPointer(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	writeFile(t, filepath.Join(out, sinklake.CurrentFile), []byte("{"))
	s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]", "retries: 3"))
	run := s.at(t, someDay)
	if run.State != pipeline.StateFinished || run.Scheduled.Current || *run.Exit != exitFailure || !strings.Contains(run.Scheduled.Why, "pacsgp promote") {
		t.Fatalf("%+v", run)
	}
	if run := s.at(t, someDay.Add(time.Hour)); run != nil {
		t.Errorf("it runs again: %+v", run)
	}
	fatal.If(t, os.Remove(filepath.Join(out, sinklake.CurrentFile)))
	succeed(t, "promote", schedule.Certificate(run), out, "--judge", "draw")
	// If it is gone, the records of runs say what was current, and the next model is not at once.
	addFile(t, dir, "more", 200, 60)
	before := s.at(t, someDay.Add(2*time.Hour))
	fatal.If(t, os.Remove(filepath.Join(out, sinklake.CurrentFile)))
	addFile(t, dir, "last", 300, 60)
	if run := s.at(t, someDay.Add(3*time.Hour)); !before.Scheduled.Current || run.Scheduled.Current || current(t, out) != nil || !strings.Contains(run.Scheduled.Why, "certificate "+schedule.Certificate(before)+" was current") {
		t.Errorf("the pointer is gone: %+v", run.Scheduled)
	}
}

// What only looks makes nothing: no record, and no folder.
func TestLookingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	succeed(t, "schedule", "-c", path, "--runs")
	pacsgp(t, "promote", "4978aaaaaaaaaaaa", filepath.Join(dir, "nowhere")).says(t, exitFailure)
	for _, name := range []string{"schedule.db", "nowhere"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	writeFile(t, filepath.Join(dir, "schedule.db"), []byte("no record"))
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "a record is a folder now")
}

// Training by hand into the output of a schedule is told to be none of its sequence.
func TestTrainIntoTheOutputOfASchedule(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	succeed(t, "schedule", "-c", writeSchedule(t, dir, job, "triggers: [{files: 1}]"), "--once")
	addFile(t, dir, "b", 180, 60)
	if log := succeed(t, "train", "-c", job).log; !strings.Contains(log, "is the output of a schedule") {
		t.Errorf("it says %s", log)
	}
}
