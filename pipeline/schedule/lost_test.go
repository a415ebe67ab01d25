package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// onFiles is a job on files that is due when one has come.
func onFiles(t *testing.T, change func(j *schedule.Job)) *stage {
	t.Helper()
	return newStage(t, declared(func(j *schedule.Job) {
		j.Triggers = []schedule.Trigger{{Key: "files 1", Files: 1}}
		change(j)
	}))
}

func asDeclared(*schedule.Job) {}

// sampled are the names of the files of a run.
func sampled(r *pipeline.RunState) (names string) {
	for _, f := range r.Scheduled.Files {
		names += f.Path
	}
	return names
}

// A number that could not be noted stands in no record: the next run has the order of the
// files that was, and a number.
func TestNumberThatCannotBeNoted(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.at(someDay)
	s.lake.add("a", 60)
	s.op = func(func() error) error {
		s.op = func(effect func() error) error { return effect() }
		return errors.New("no space left on device")
	}
	if r := s.at(someDay.Add(time.Hour)); r.State != pipeline.StateFailed || r.Scheduled.Sequence != 0 {
		t.Fatalf("%+v, %+v", r, r.Scheduled)
	}
	s.lake.add("0", 60)
	if r := s.at(someDay.Add(2 * time.Hour)); r.State != pipeline.StateFinished || r.Scheduled.Sequence != 2 || !strings.HasPrefix(sampled(r), "bcd") {
		t.Errorf("%+v, %s", r, sampled(r))
	}
}

// Without the state the order of files is unknown: rows of the next sample would change their subsets.
func TestOrderThatIsNotKnown(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.at(someDay)
	s.lake.add("a", 60)
	s.at(someDay.Add(time.Hour))
	text, _, err := s.store.Note(schedule.StateFile)
	fatal.If(t, err)
	kept, runs := s.store, s.runs()
	s.lake.add("0", 60)
	for number, left := range map[int]*pipelinetest.Store{2: {Certificates: kept.Certificates}, 1: {}} {
		s.store = left
		if number == 1 {
			fatal.If(t, left.PutRun(runs[0]))
		}
		s.again()
		if r := s.at(someDay.Add(2 * time.Hour)); r != nil || !strings.Contains(fmt.Sprint(s.said), fmt.Sprint("schedule.json is not in the output, which has or had a run or a certificate with number ", number)) {
			t.Errorf("%+v; %q", r, s.said)
		}
	}
	s.store = &pipelinetest.Store{Certificates: kept.Certificates}
	fatal.If(t, s.store.PutRun(runs[0])) // that of the second is damaged
	fatal.If(t, s.store.PutNote(schedule.StateFile, text))
	s.again()
	if r := s.at(someDay.Add(3 * time.Hour)); r == nil || r.Scheduled.Sequence != 2 || sampled(r) != "bcda" || len(s.certificates()) != 2 {
		t.Errorf("with the state: %+v; %q", r, s.said)
	}
}

// If an output goes while its scheduler works, as with a volume, no number is used again.
func TestOutputThatGoes(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.at(someDay)
	*s.store = pipelinetest.Store{}
	s.lake.add("a", 60)
	if r := s.at(someDay.Add(time.Hour)); r != nil || s.trains != 1 || !strings.Contains(fmt.Sprint(s.said), "which has or had a run or a certificate with number 1 ") {
		t.Errorf("%+v, %q", r, s.said)
	}
}

// A state that is damaged, or of another format, stops the job, and is not replaced.
func TestDamagedState(t *testing.T) {
	for _, text := range []string{"{", "", "{}", "null", `{"format":"pacsgp-schedule/1","job":"waves","run":{"sequence":9223372036854775807}}`} {
		s := onFiles(t, asDeclared)
		fatal.If(t, s.store.PutNote(schedule.StateFile, []byte(text)))
		if r := s.at(someDay); r != nil || !strings.Contains(fmt.Sprint(s.said), schedule.StateFile+": ") {
			t.Errorf("%q: %+v; %q", text, r, s.said)
		}
		if left, _, err := s.store.Note(schedule.StateFile); string(left) != text || err != nil {
			t.Errorf("%q: it is %q now, %v", text, left, err)
		}
	}
}

// finishes records the end of a run as a training does, and then lets something happen.
func (s *stage) finishes(then func()) {
	s.Train = func(ctx context.Context, _ *schedule.Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
		o, err := s.train(ctx, job, rows, how)
		fatal.If(s.t, err)
		how.Conclude(ctx, how.Begun, o, nil)
		err = s.job.Output.PutRun(how.Begun)
		then()
		return o, err
	}
}

// A stopping output tells the scheduler to end when it is asked what is current.
type stopping struct {
	pipeline.Output
	stop func()
}

func (o stopping) Current() (*pipeline.Current, error) {
	o.stop()
	return o.Output.Current()
}

// A scheduler that is to end while it compares two certificates decides all the same what is current.
func TestStoppedBehindTraining(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.at(someDay)
	s.lake.add("e", 60)
	ctx, stop := context.WithCancel(t.Context())
	s.job.Output = stopping{s.job.Output, stop}
	if r, err := s.Look(ctx, s.job, someDay.Add(time.Hour)); err != nil || r.State != pipeline.StateFinished || !r.Scheduled.Current || s.trains != 2 {
		t.Errorf("%d trainings, %+v, %v", s.trains, r, err)
	}
}

// A fixed output cannot move its pointer.
type fixed struct{ pipeline.Output }

func (fixed) Point(pipeline.Current) error { return errors.New("read-only file system") }

// A model whose pointer could not be moved is not current, by its record and by its line in the log.
func TestPointerThatCannotBeMoved(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.job.Output = fixed{s.job.Output}
	r := s.at(someDay)
	want := "(hint: mend that, then pacsgp promote " + schedule.Certificate(r)[:12] + " makes it current)"
	if *r.Exit != pipeline.ExitFailure || r.Promoted() != "" || !strings.HasSuffix(schedule.Words(r), want) {
		t.Errorf("%+v, %q", r.Scheduled, schedule.Words(r))
	}
}

// An end that cannot be recorded, as on a full disk, is reported once, and not at each poll as another one.
func TestEndThatCannotBeRecorded(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.Train = func(context.Context, *schedule.Job, job.Job, dataset.Rows, pipeline.RunConfig) (*pipeline.Outcome, error) {
		s.op = func(func() error) error { return errors.New("no space left on device") }
		return nil, errors.New("no luck")
	}
	for range 3 {
		_, _ = s.Look(t.Context(), s.job, someDay)
	}
	if said := fmt.Sprint(s.said); strings.Count(said, "no luck") != 1 || strings.Contains(said, "the scheduler ended") {
		t.Errorf("%q", said)
	}
}

// A run that fails is tried again soon, though a clock that was a year ahead has left the
// record of a run before it, or was put back behind the failure.
func TestRetryWhenTheClockWasPutBack(t *testing.T) {
	for _, failed := range []time.Time{someDay, someDay.AddDate(1, 0, 0)} {
		s := onFiles(t, func(j *schedule.Job) { j.Retries = 1 })
		s.at(someDay.AddDate(1, 0, 0))
		s.lake.add("e", 60)
		s.fail = errors.New("no luck")
		s.at(failed)
		s.fail = nil
		if r := s.at(failed.Add(time.Second)); r != nil {
			t.Errorf("before its backoff: %+v", r)
		}
		if r := s.at(someDay.Add(time.Hour)); r == nil || r.State != pipeline.StateFinished || r.Scheduled.Try != 2 {
			t.Errorf("%+v", r)
		}
	}
}

// A round runs what is due behind a run that had finished when its scheduler was killed, also if
// the record has lost the time of the end.
func TestRoundBehindAKilledScheduler(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		s := onFiles(t, asDeclared)
		s.finishes(func() { s.op = func(func() error) error { return errDies } })
		if _, err := s.Look(t.Context(), s.job, someDay); err != nil && !errors.Is(err, errDies) {
			t.Fatal(err)
		}
		if damaged {
			r := s.runs()[0]
			r.Ended = nil
			fatal.If(t, s.store.PutRun(r))
		}
		s.again()
		s.lake.add("e", 60)
		fatal.If(t, s.Once(t.Context(), []*schedule.Job{s.job}, &leaping{now: someDay.Add(time.Hour)}))
		if all := s.runs(); s.trains != 2 || len(all) != 2 || all[0].State != pipeline.StateFinished || !all[0].Scheduled.Current || !all[1].Scheduled.Current {
			t.Errorf("%d trainings, %+v", s.trains, all)
		}
	}
}

// A run that is published stays finished if its training could not remove old files.
func TestFinishedRunThatCannotTidyUp(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.finishes(func() {})
	finish := s.Train
	s.Train = func(ctx context.Context, j *schedule.Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
		o, err := finish(ctx, j, job, rows, how)
		return o, errors.Join(err, errors.New("read-only file system"))
	}
	if r := s.at(someDay); r.State != pipeline.StateFinished || !r.Scheduled.Current || !strings.Contains(fmt.Sprint(s.said), "read-only file system") {
		t.Errorf("%+v; %q", r, s.said)
	}
}

// A machine whose time zone is another one than before sees the same files.
func TestTimeZoneOfTheMachine(t *testing.T) {
	s := onFiles(t, func(j *schedule.Job) { j.Triggers = append(j.Triggers, hourly(t)) })
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("east", 3600)} {
		written := someDay.In(zone)
		for i := range s.lake.files {
			s.lake.files[i].Modified = &written
		}
		s.at(someDay)
		s.at(someDay.Add(time.Hour)) // due by time, without anything new
	}
	if s.trains != 1 {
		t.Errorf("%d trainings", s.trains)
	}
}

// However long the backoff is, a retry is later than the failure: twice as long overflows.
func TestLongBackoff(t *testing.T) {
	s := onFiles(t, func(j *schedule.Job) { j.Retries, j.Backoff = 100, 300*24*time.Hour })
	s.fail = errors.New("no luck")
	now := someDay
	for try := range 30 {
		if r := s.at(now); r == nil || r.Scheduled.Try != try+1 {
			t.Fatalf("try %d: %+v", try+1, r)
		}
		if r := s.at(now.Add(time.Hour)); r != nil {
			t.Fatalf("try %d: it is tried again after an hour", try+1)
		}
		now = now.AddDate(1, 0, 1)
	}
}
