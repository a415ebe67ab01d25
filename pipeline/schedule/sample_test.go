package schedule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// addAt adds a file of 60 rows that was written at a moment.
func (s *stage) addAt(path string, at time.Time) {
	s.lake.add(path, 60)
	for i := range s.lake.files {
		if s.lake.files[i].Path == path {
			s.lake.files[i].Modified = &at
		}
	}
}

// paths are those of the files of the newest run.
func (s *stage) paths() string {
	runs := s.runs()
	return sampled(runs[len(runs)-1])
}

// A file that was written after now has no part in a run, and this is reported.
func TestPostdatedFiles(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{hourly(t)} }))
	s.at(someDay)
	s.addAt("late", someDay.Add(time.Hour*24*365))
	r := s.at(someDay.Add(2 * time.Hour))
	if text := r.Scheduled.Postdated(); text != "1 file dated after now and left out: late" || !strings.Contains(strings.Join(s.said, "\n"), text) {
		t.Errorf("%q, %q", text, s.said)
	}
}

// A run that fails by its values is tried again on the same files, whatever has come since; where
// one of them was written again it is not tried on others.
func TestEveryTryHasTheSameFiles(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) { j.Triggers, j.Retries = []schedule.Trigger{hourly(t)}, 3 }))
	s.at(someDay)
	s.fail = errors.New("too many rows equal an earlier one")
	now := someDay.Add(time.Hour)
	s.at(now)
	s.lake.add("e", 60)
	if s.at(now.Add(2 * time.Minute)); s.paths() != "bcd" || s.trains != 2 {
		t.Errorf("the second try takes %q", s.paths())
	}
	s.lake.files[0].Footer = "written again"
	if r := s.at(now.Add(10 * time.Minute)); r == nil || s.trains != 2 || r.Fault == "" {
		t.Errorf("with other files: %+v", r)
	}
	s.fail = nil
	s.at(now.Add(2 * time.Hour))                                                  // the last try
	if r := s.at(now.Add(3 * time.Hour)); s.paths() != "cdbe" || s.trains != 3 || // what was written again is another file, which is reported
		r.Scheduled.Rewritten() != "1 file written again since the run before, with other rows: b" {
		t.Errorf("the next run takes %q: %+v", s.paths(), r.Scheduled)
	}
}

// What a run takes is fixed at its moment, however long the run before it has worked.
func TestLengthOfARunDecidesNoSample(t *testing.T) {
	for _, late := range []time.Duration{0, 20 * time.Minute, 50 * time.Minute} {
		s := newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{hourly(t)} }))
		s.at(someDay)
		moment := someDay.Add(time.Hour)
		s.addAt("e", moment.Add(-time.Minute))
		s.addAt("f", moment.Add(10*time.Minute))
		if s.at(moment.Add(late)); s.paths() != "bcde" {
			t.Errorf("%v after its moment the run takes %q", late, s.paths())
		}
		s = newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{{Key: "rows 100", Rows: 100}} }))
		s.at(someDay)
		s.addAt("e", someDay.Add(10*time.Minute))
		s.addAt("g", someDay.Add(30*time.Minute))
		s.addAt("f", someDay.Add(20*time.Minute))
		if s.at(moment.Add(late)); s.paths() != "bcdef" {
			t.Errorf("%v after 100 rows have come the run takes %q", late, s.paths())
		}
	}
}

// A column that becomes text in new files is no reason for a model without it: the run fails before
// it takes a number, and its retry takes the mended files.
func TestFeaturesOfASequenceStay(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) { j.Triggers, j.Retries = []schedule.Trigger{hourly(t)}, 3 }))
	s.at(someDay)
	now := someDay.Add(time.Hour)
	s.at(now)
	now = now.Add(time.Hour)
	s.addAt("e", now)
	s.lake.lacks = "temp"
	if r := s.at(now); r == nil || r.State != pipeline.StateFailed || *r.Exit != pipeline.ExitFailure || r.Scheduled.Sequence != 0 || !strings.Contains(r.Fault, `certificate number 1: "temp" is text`) {
		t.Fatalf("%+v", r)
	}
	s.lake.lacks, s.lake.files[3].Footer = "", "mended"
	if r := s.at(now.Add(2 * time.Minute)); r == nil || *r.Exit != 0 || r.Scheduled.Try != 2 || r.Scheduled.Sequence != 2 || s.paths() != "bcde" {
		t.Errorf("mended: %+v", r)
	}
}

// Of several triggers that are due a run has the latest moment: no row waits for the next look.
func TestLatestOfTheTriggersThatAreDue(t *testing.T) {
	early, err := schedule.Cron("30 2 * * *", "UTC")
	fatal.If(t, err)
	for _, c := range []struct {
		last schedule.Trigger
		want string
	}{{hourly(t), "bcde"}, {schedule.Trigger{Key: "files 1", Files: 1}, "bcdef"}} {
		s := newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{{Key: "early", Moments: early}, c.last} }))
		identity, err := s.job.Job.Digest()
		fatal.If(t, err)
		fatal.If(t, s.store.PutNote(schedule.StateFile, fmt.Appendf(nil, `{"format":"pacsgp-schedule/1","job":"waves","identity":%q,"last":{"early":%q,%q:%q}}`,
			identity, someDay.Format(time.RFC3339), c.last.Key, someDay.Format(time.RFC3339))))
		s.addAt("e", someDay.Add(2*time.Hour+45*time.Minute))
		s.addAt("f", someDay.Add(3*time.Hour+5*time.Minute))
		now := someDay.Add(3*time.Hour + 10*time.Minute)
		err = s.Once(t.Context(), []*schedule.Job{s.job}, &leaping{now: now})
		if err != nil || s.trains != 1 || s.paths() != c.want {
			t.Errorf("%s: %d runs, the last one takes %q, want %q; %v", c.last.Key, s.trains, s.paths(), c.want, err)
		}
	}
}
