package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// Three nights are missed: there is one run for all.
func TestDowntimeOverThreeTriggers(t *testing.T) {
	night, err := schedule.Cron("30 2 * * *", "UTC")
	fatal.If(t, err)
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Triggers, j.Files.Which = []schedule.Trigger{{Key: "night", Moments: night}}, schedule.FilesNew
	}))
	if r := s.at(someDay); r != nil {
		t.Fatalf("a job that is new runs at once: %+v", r)
	}
	back := someDay.AddDate(0, 0, 3).Add(12 * time.Hour) // three times 02:30 are gone, and a fourth
	if r := s.at(back); r.State != pipeline.StateFinished {
		t.Errorf("%+v, want one run for four nights", r)
	}
	if r := s.at(back.Add(time.Minute)); r != nil {
		t.Errorf("another run a minute later: %+v", r)
	}
	s.lake.add("e", 60)
	if r := s.at(time.Date(2026, 5, 5, 2, 30, 1, 0, time.UTC)); r == nil || r.State != pipeline.StateFinished {
		t.Errorf("not on time: %+v", r)
	}
}

func TestNewFilesAndRowsTrigger(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Triggers = []schedule.Trigger{{Key: "files 4", Files: 4}, {Key: "rows 100", Rows: 100}}
	}))
	if s.at(someDay); s.trains != 1 { // 180 rows
		t.Fatalf("%d runs", s.trains)
	}
	s.lake.add("e", 99)
	if r := s.at(someDay.Add(time.Hour)); r != nil {
		t.Errorf("99 rows: %+v", r)
	}
	s.lake.add("a", 1) // before all others by its name
	r := s.at(someDay.Add(2 * time.Hour))
	if r == nil || r.Scheduled.Trigger != "rows 100" || r.Scheduled.Sequence != 2 || r.Scheduled.Number != 2 {
		t.Fatalf("100 rows: %+v", r)
	}
	// What was taken before keeps its order, so that no row changes its subset.
	if names := sampled(r); names != "bcdae" {
		t.Errorf("the new files are not behind the others: %s", names)
	}
	s.lake.fault = errors.New("it is away")
	if r := s.at(someDay.Add(3 * time.Hour)); r != nil || !strings.Contains(fmt.Sprint(s.said), "waves: the lake cannot be listed: it is away") {
		t.Errorf("%+v, %q", r, s.said)
	}
}

// What is new is what no run has taken: a lake that does not change triggers nothing.
func TestNewFilesTriggerOnce(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Triggers, j.Files.Which = []schedule.Trigger{{Key: "rows 100", Rows: 100}}, schedule.FilesNew
	}))
	for i := range 3 {
		now := someDay.Add(time.Duration(i) * time.Hour)
		if r := s.at(now); r == nil || r.State != pipeline.StateFinished || len(r.Scheduled.Files) != map[bool]int{true: 3, false: 1}[i == 0] {
			t.Fatalf("%+v", r)
		}
		if r := s.at(now.Add(time.Minute)); r != nil {
			t.Fatalf("it runs again: %+v", r)
		}
		s.lake.add(fmt.Sprint("more", i), 100)
	}
}

// A run that fails is tried again, later each time, and not for ever; a fault of the job is not.
func TestRetries(t *testing.T) {
	for fault, want := range map[error][]int{errors.New("no such luck"): {0, 1, 3}, job.ErrConfig: {0}} {
		s := newStage(t, declared(func(j *schedule.Job) { j.Triggers, j.Retries = []schedule.Trigger{hourly(t)}, 2 }))
		s.at(someDay)
		s.fail = fault
		now := someDay.Add(time.Hour)
		var tried []int
		for minute := range 10 {
			before := s.trains
			if s.at(now.Add(time.Duration(minute) * (time.Minute + time.Second))); s.trains > before {
				tried = append(tried, minute)
			}
		}
		if !slices.Equal(tried, want) {
			t.Errorf("%v: tried in the minutes %v, want %v", fault, tried, want)
		}
		for i, r := range s.runs() {
			if of := r.Scheduled; r.State != pipeline.StateFailed || of.Try != i+1 || of.Sequence != 1 || *r.Exit != pipeline.ExitStatus(fault) || !of.Moment.Equal(now) {
				t.Errorf("%+v", r)
			}
			due := now.Add(time.Hour)
			if i+1 < len(want) {
				due = r.Ended.Add(time.Minute << i)
			}
			if !r.Scheduled.Due.Equal(due) {
				t.Errorf("try %d: due next at %v, want %v", i+1, r.Scheduled.Due, due)
			}
		}
	}
}

// A scheduler that is to end during a run tries it again, on the same files and under
// the same number.
func TestInterruptedRunIsTriedAgain(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) { j.Triggers = []schedule.Trigger{hourly(t)} }))
	s.at(someDay)
	ctx, cancel := context.WithCancel(t.Context())
	train := s.Train
	s.Train = func(context.Context, *schedule.Job, job.Job, dataset.Rows, pipeline.RunConfig) (*pipeline.Outcome, error) {
		cancel()
		return nil, errors.New("interrupted")
	}
	if _, err := s.Look(ctx, s.job, someDay.Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.Train = train
	r := s.at(someDay.Add(90 * time.Minute))
	if r == nil || r.State != pipeline.StateFinished || r.Scheduled.Sequence != 1 || r.Scheduled.Try != 1 {
		t.Errorf("%+v", r)
	}
	if all := s.runs(); len(all) != 2 || all[0].State != pipeline.StateInterrupted {
		t.Errorf("%+v", all)
	}
}

// A clock that goes on by itself when it is waited for, up to an end.
type leaping struct {
	now, end time.Time
	stop     func()
}

func (c *leaping) Now() time.Time { return c.now }

func (c *leaping) After(d time.Duration) <-chan time.Time {
	c.now = c.now.Add(d)
	over := make(chan time.Time, 1)
	if c.now.After(c.end) {
		c.stop()
	} else {
		over <- c.now
	}
	return over
}

// 24 hours of an hourly trigger and another one, minute by minute. Runs without a new row
// have one record, in a row.
func TestDayOfHours(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Triggers = []schedule.Trigger{hourly(t), {Key: "every 5h30m", Moments: schedule.Interval(330 * time.Minute)}}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	fatal.If(t, s.Serve(ctx, []*schedule.Job{s.job}, &leaping{someDay.Add(time.Second), someDay.Add(24 * time.Hour), cancel}))
	finished := 0
	for _, r := range s.runs() {
		if r.State == pipeline.StateFinished {
			finished++
		}
	}
	if finished != 1 || s.trains != 1 || len(s.runs()) > 10 {
		t.Errorf("%d runs, %d trained", len(s.runs()), s.trains)
	}
}

// The last 30 days by a key of the paths, and files that cannot be chosen: they are not read
// at again at every poll; once they can, they are.
func TestFilesOfTheLastDays(t *testing.T) {
	s := onFiles(t, func(j *schedule.Job) {
		j.Files = schedule.Files{Which: schedule.FilesLast, Last: 30 * 24 * time.Hour, Key: "day"}
	})
	s.lake.files = nil
	for _, day := range []string{"2026-03-01", "2026-04-01", "2026-04-02", "20260501"} {
		s.lake.add("lake/day="+day+"/f", 60)
	}
	may := time.Date(2026, 5, 2, 1, 0, 0, 0, time.UTC) // 30 days before: 2 April, 01:00
	if r := s.at(may); len(r.Scheduled.Files) != 2 || r.Scheduled.Files[0].Path != "lake/day=2026-04-02/f" {
		t.Errorf("%+v", r.Scheduled.Files)
	}
	s.lake.add("lake/day=soon/f", 10)
	runs := 0
	for minute := range 60 {
		if r := s.at(may.Add(time.Duration(minute+1) * time.Minute)); r != nil {
			if runs++; r.State != pipeline.StateFailed || !strings.Contains(r.Fault, "day=soon is no date") {
				t.Fatalf("%+v", r)
			}
		}
	}
	if runs != 6 { // after 0, 1, 3, 7, 15 and 31 minutes
		t.Errorf("%d runs in an hour", runs)
	}
	s.lake.files = s.lake.files[:4]
	s.lake.add("lake/day=2026-05/f", 10)
	if r := s.at(may.Add(2 * time.Hour)); r == nil || r.State != pipeline.StateFinished || len(r.Scheduled.Files) != 3 {
		t.Errorf("%+v", r)
	}
}

// A scheduler whose run is begun again and again and always kills it stops trying.
func TestRunThatKillsItsScheduler(t *testing.T) {
	log := &topic{name: "rows", rows: []int64{60}}
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Topic, j.Triggers = log, []schedule.Trigger{{Key: "lag 60", Offsets: 60}}
	}))
	die := func(i int) *pipeline.RunState {
		s.again()
		s.Train = func(context.Context, *schedule.Job, job.Job, dataset.Rows, pipeline.RunConfig) (*pipeline.Outcome, error) {
			s.op = func(func() error) error { return errDies }
			return nil, errors.New("killed")
		}
		r, err := s.Look(t.Context(), s.job, someDay.Add(time.Duration(i)*time.Hour))
		fatal.If(t, err)
		return r
	}
	for i := range 6 {
		if r := die(i); r == nil || r.Scheduled.Sequence != 1 || r.Scheduled.Kills != i {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if r := die(6); r != nil {
		t.Fatalf("it is begun again after six times: %+v", r)
	}
	log.rows[0] += 60
	s.again()
	if r := s.at(someDay.Add(24 * time.Hour)); r == nil || r.State != pipeline.StateFinished || r.Scheduled.Sequence != 2 || r.Scheduled.Window.Partitions[0].First != 60 {
		t.Errorf("the next window: %+v", r)
	}
}

// A job that is changed is another one: its certificates would not share delta.
func TestChangedJobIsRefused(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.at(someDay)
	s.job.Job.Delta = 0.2
	s.again()
	err := s.Once(t.Context(), []*schedule.Job{s.job}, &leaping{now: someDay})
	if round, ok := errors.AsType[schedule.RoundError](err); !ok || round.Exit != pipeline.ExitConfig || !strings.Contains(err.Error(), "another job than its first run had, with which it shares delta (hint: undo the change") {
		t.Error(err)
	}
	if err := s.Serve(t.Context(), []*schedule.Job{s.job}, &leaping{now: someDay}); !errors.Is(err, job.ErrConfig) {
		t.Errorf("served alone: %v", err)
	}
}

// What a round says is of the worst of its runs.
func TestRound(t *testing.T) {
	s := onFiles(t, asDeclared)
	for i, c := range []struct {
		kl   float64
		fail error
		want int
	}{{61.25, nil, 0}, {50000, nil, pipeline.ExitNotCertified}, {0, errors.New("no luck"), pipeline.ExitFailure}, {0, job.ErrConfig, pipeline.ExitConfig}} {
		s.kl, s.fail = c.kl, c.fail
		s.lake.add(fmt.Sprint("e", i), 60)
		err := s.Once(t.Context(), []*schedule.Job{s.job}, &leaping{now: someDay.Add(time.Duration(i) * time.Hour)})
		var round schedule.RoundError
		if (c.want == 0) != (err == nil) || err != nil && (!errors.As(err, &round) || round.Exit != c.want) {
			t.Errorf("%v, want status %d", err, c.want)
		}
	}
}

// A round ends with status 3 while rows contradict the current model, also if nothing is due.
func TestRoundWithAnAlarm(t *testing.T) {
	s := onFiles(t, asDeclared)
	round := func() error {
		s.again()
		return s.Once(t.Context(), []*schedule.Job{s.job}, &leaping{now: someDay})
	}
	fatal.If(t, round())
	current, err := s.store.Current()
	fatal.If(t, err)
	alarm, err := certify.NewAlarm(.1, watch.DefaultDelta)
	fatal.If(t, err)
	test := watch.Test{Certificate: current.ID, Alarm: alarm, Where: "bad.parquet"}
	for range 40 {
		fatal.If(t, errors.Join(test.Losses.AddUnits(certify.UnitsPerLoss), test.Alarm.Add([]uint64{certify.UnitsPerLoss})))
	}
	text, err := json.Marshal(watch.State{Format: watch.Format, Tests: []watch.Test{test}})
	fatal.If(t, err)
	fatal.If(t, s.store.PutNote(watch.StateFile, text))
	for range 2 {
		if said, ok := errors.AsType[schedule.RoundError](round()); !ok || said.Exit != pipeline.ExitNotCertified || !strings.Contains(said.Error(), "bad.parquet") || s.trains != 1 {
			t.Errorf("behind an alarm: %v, %d trainings", said, s.trains)
		}
	}
	s.lake.add("e", 60)
	if err := round(); err != nil || s.trains != 2 {
		t.Errorf("another model is current: %v", err)
	}
}

// Which certificate becomes current: one that is certified, whatever its bound or if it is not far
// above the current one.
func TestPromotion(t *testing.T) {
	for _, c := range []struct {
		rule  watch.Promotion
		moves []bool
	}{
		{watch.Promotion{}, []bool{true, true, false, true}},
		{watch.Promotion{Within: .1}, []bool{true, true, false, false}},
	} {
		s := onFiles(t, func(j *schedule.Job) { j.Promote = c.rule })
		want := ""
		for i, moves := range c.moves {
			s.kl = []float64{61.25, 61.5, 50000, 100}[i] // the third certifies nothing, the fourth less than the second
			s.lake.add(fmt.Sprint("e", i), 60)
			r := s.at(someDay.Add(time.Duration(i) * time.Hour))
			if r.Scheduled.Current != moves || i == 3 && !moves && !strings.Contains(r.Scheduled.Why, "with the confidence of the current one (14.2 % with its own), is more than 10 % above that of the current one") {
				t.Errorf("%+v, run %d: %+v", c.rule, i, r.Scheduled)
			}
			if moves {
				want = schedule.Certificate(r)
			}
			if p, err := s.store.Current(); err != nil || p == nil || p.ID != want {
				t.Errorf("%+v, run %d: current is %+v, %v", c.rule, i, p, err)
			}
		}
	}
}

// A pointer that is gone is no reason to promote whatever comes next.
func TestLostPointer(t *testing.T) {
	s := onFiles(t, asDeclared)
	s.lost = true
	first := s.at(someDay)
	if first == nil || !first.Scheduled.Current || first.Scheduled.Why != "the first" {
		t.Fatalf("the first run: %+v", first)
	}
	s.lake.add("e", 60)
	want := "is gone; by the record of run 1 certificate " + schedule.Certificate(first)
	if r := s.at(someDay.Add(time.Hour)); r.Scheduled.Current || *r.Exit != pipeline.ExitFailure || !strings.Contains(r.Scheduled.Why, want) {
		t.Errorf("%+v, want %q", r.Scheduled, want)
	}
	if p, err := s.store.Current(); err != nil || p.ID != schedule.Certificate(first) {
		t.Errorf("it has moved to %+v, %v", p, err)
	}
	if at, err := s.job.Standing(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%+v, %v", at, err)
	}
}

// What a job lacks is reported before it takes a number; by default predictions are required.
func TestIncompleteJob(t *testing.T) {
	for _, lack := range []func(j *schedule.Job){
		func(j *schedule.Job) { j.Job.Repeated = false }, func(j *schedule.Job) { j.Software = "" },
		func(j *schedule.Job) { j.Lake = nil }, func(j *schedule.Job) { j.Name = "" },
	} {
		s := onFiles(t, asDeclared)
		lack(s.job)
		if _, err := s.Look(t.Context(), s.job, someDay); !errors.Is(err, job.ErrConfig) || len(s.runs()) != 0 {
			t.Errorf("%v, %d runs", err, len(s.runs()))
		}
	}
	s := onFiles(t, func(j *schedule.Job) { j.How.Required = "" })
	if s.at(someDay); s.job.How.Required != certify.PredictorMean || (certify.Certificate{}).About("").Predictor != certify.PredictorMean {
		t.Errorf("requires %q", s.job.How.Required)
	}
}
