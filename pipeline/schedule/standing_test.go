package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// Whatever a run dies of, its end is reported once, with its cause, and the output of the job says how
// it stands.
func TestEveryEndIsReported(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Triggers, j.Promote = []schedule.Trigger{hourly(t)}, watch.Promotion{Within: .1}
	}))
	var ends []string
	s.Ended = func(_ *schedule.Job, r *pipeline.RunState) {
		ends = append(ends, string(r.State)+" "+schedule.Cause(r))
	}
	s.at(someDay)
	moved := someDay.Add(time.Hour)
	for i, night := range []struct {
		end     string
		unmoved int
		change  func()
	}{
		{"finished ", 0, func() {}},
		{"failed rows", 0, func() { s.lake.fault = errors.New("half.parquet: not written to its end") }},
		{"failed run", 0, func() { s.lake.fault, s.fail = nil, errors.New("no luck") }},
		{"failed job", 0, func() { s.fail = job.ErrConfig }},
		{"finished ", 0, func() { s.fail, s.kl = nil, 100 }},
		{"finished not_certified", 1, func() { s.kl = 50000 }},
		{"nothing ", 1, nil},
	} {
		if night.change != nil {
			night.change()
			s.lake.add(string(rune('e'+i)), 60)
		}
		now := someDay.Add(time.Duration(i+1) * time.Hour)
		s.at(now)
		if len(ends) != i+1 || ends[i] != night.end {
			t.Fatalf("night %d: %q, want one more, %q", i, ends, night.end)
		}
		at, err := s.job.Standing()
		if err != nil || at.Last == nil || !at.Last.Ended.Truncate(time.Hour).Equal(now) || at.Unmoved != night.unmoved ||
			at.Current == nil || !at.Current.Since.Truncate(time.Hour).Equal(moved) || (at.Fault() != "") != strings.HasPrefix(night.end, "failed") {
			t.Errorf("night %d: %+v, %v, want %d runs that could not move it", i, at, err, night.unmoved)
		}
		if due := at.Last.Scheduled.Due; due == nil || !due.Equal(now.Add(time.Hour)) {
			t.Errorf("night %d: due next at %v, want an hour later", i, due)
		}
		if succeeded := map[bool]int{true: 1, false: 5}[i < 4]; !at.Succeeded.Truncate(time.Hour).Equal(someDay.Add(time.Duration(succeeded) * time.Hour)) {
			t.Errorf("night %d: the last success was at %v", i, at.Succeeded)
		}
	}
}

// While a job waits after a failed run, each round says why, and for what until when, once.
func TestWaitAfterAFailedRun(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{hourly(t), {Key: "files 1", Files: 1}} }))
	s.at(someDay)
	s.lake.fault = errors.New("half.parquet")
	s.at(someDay.Add(time.Hour))
	err := s.Once(t.Context(), []*schedule.Job{s.job}, &leaping{now: someDay.Add(time.Hour + time.Second)})
	if want := "waves: the last run has failed, and none has begun since: half.parquet; new data is counted again at 01:01:00 UTC\nhint: pacsgp schedule run waves -c FILE tries it again now, the schedule at 2026-05-01 02:00 UTC"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A run by hand before the first look says when the job is due.
func TestDueBehindARunByHand(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{hourly(t)} }))
	s.Now = true
	if r := s.at(someDay.Add(10 * time.Minute)); r.Scheduled.Due == nil || !r.Scheduled.Due.Equal(someDay.Add(time.Hour)) {
		t.Errorf("due at %v", r.Scheduled.Due)
	}
}

// When triggers change, the newest record says when the job runs next.
func TestDueBehindAChange(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{hourly(t)} }))
	s.Now = true
	s.at(someDay.Add(10 * time.Minute))
	s.Now = false
	daily, err := schedule.Cron("30 5 * * *", "UTC")
	fatal.If(t, err)
	s.job.Triggers = []schedule.Trigger{{Key: "cron 30 5 * * * UTC", Moments: daily}}
	s.Seen = func(_ *schedule.Job, fault error) { fatal.If(t, fault) }
	release, err := (&pipelinetest.Output{Store: s.store}).Hold()
	fatal.If(t, err)
	s.at(someDay.Add(15 * time.Minute)) // a run by hand holds the output: no fault
	fatal.If(t, release())
	if r := s.at(someDay.Add(20 * time.Minute)); r != nil {
		t.Fatalf("nothing is due, and it ran: %+v", r)
	}
	if due, want := s.runs()[0].Scheduled.Due, someDay.Add(5*time.Hour+30*time.Minute); due == nil || !due.Equal(want) {
		t.Errorf("due at %v, want %v", due, want)
	}
}

// A job that was changed stops no other one.
func TestAFaultStopsOneJob(t *testing.T) {
	other := onFiles(t, func(j *schedule.Job) { j.Name = "other" })
	other.at(someDay)
	other.job.Job.Delta = .2
	s := onFiles(t, asDeclared)
	var seen []string
	s.Seen = func(j *schedule.Job, fault error) {
		if fault != nil {
			seen = append(seen, j.Name)
		}
	}
	err := s.Once(t.Context(), []*schedule.Job{other.job, s.job}, &leaping{now: someDay})
	if round, ok := errors.AsType[schedule.RoundError](err); !ok || round.Exit != pipeline.ExitConfig || s.trains != 1 || len(seen) != 1 || seen[0] != "other" {
		t.Errorf("%v, %d runs of the other job, faults of %q", err, s.trains, seen)
	}
}
