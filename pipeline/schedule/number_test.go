package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

func onTopic(t *testing.T, lag int64, rows ...int64) (*stage, *topic) {
	t.Helper()
	log := &topic{name: "rows", rows: rows}
	return newStage(t, declared(func(j *schedule.Job) {
		j.Topic, j.Triggers, j.Retries = log, []schedule.Trigger{{Key: fmt.Sprint("lag ", lag), Offsets: lag}}, 1
	})), log
}

// follow demands that the windows of the certificates follow one another from offset 0 on, and
// returns how many offsets they have.
func (s *stage) follow() (offsets int64) {
	s.t.Helper()
	ends, all := map[int64]int64{}, s.certificates()
	for _, k := range slices.Sorted(maps.Keys(all)) {
		for _, g := range all[k].Sample.Segments {
			if g.First != ends[g.Partition] {
				s.t.Errorf("certificate %d: the segment %+v does not begin at %d", k, g, ends[g.Partition])
			}
			ends[g.Partition], offsets = g.End, offsets+(g.End-g.First)/2000
		}
	}
	return offsets
}

// The lag triggers at exactly so many offsets, and the windows follow one another.
func TestLagOfATopic(t *testing.T) {
	s, log := onTopic(t, 100, 50, 49)
	lag := int64(0)
	s.Lagged = func(_ *schedule.Job, offsets int64) { lag = offsets }
	for i := range int64(3) {
		now := someDay.Add(time.Duration(i) * time.Hour)
		if r := s.at(now); r != nil || lag != 99 {
			t.Fatalf("it runs with a lag of 99: %+v, %d", r, lag)
		}
		log.rows[1]++
		r := s.at(now.Add(time.Minute))
		if r == nil || r.State != pipeline.StateFinished || r.Scheduled.Sequence != i+1 || !r.Scheduled.Current || r.Scheduled.Window.Offsets() != 100 {
			t.Fatalf("%+v; %q", r, s.said)
		}
		if r := s.at(now.Add(2 * time.Minute)); r != nil {
			t.Fatalf("it runs again: %+v", r)
		}
		log.rows[0] += 99
	}
	if rows := s.follow(); rows != 300 {
		t.Errorf("%d rows", rows)
	}
	log.away = true
	if r := s.at(someDay.Add(24 * time.Hour)); r != nil || !strings.Contains(fmt.Sprint(s.said), "the end of its topic is not known: no broker") {
		t.Errorf("%+v, %q", r, s.said)
	}
}

// A window whose run fails is tried again as it is, under its number; when it is not tried
// again, the next window begins behind it. One without a row passes in the same way.
func TestFailedWindow(t *testing.T) {
	s, log := onTopic(t, 1, 60)
	s.fail = errors.New("no luck")
	first := s.at(someDay)
	log.rows[0] += 90
	second := s.at(someDay.Add(10 * time.Minute))
	if first.State != pipeline.StateFailed || second.Scheduled.Try != 2 || first.Scheduled.Sequence != 1 || second.Scheduled.Sequence != 1 || second.Scheduled.Window.Offsets() != 60 {
		t.Fatalf("%+v and %+v", first, second)
	}
	if len(log.left) != 1 {
		t.Errorf("%q are left", log.left)
	}
	s.fail = nil
	third := s.at(someDay.Add(time.Hour))
	if third.State != pipeline.StateFinished || third.Scheduled.Sequence != 2 || third.Scheduled.Window.Offsets() != 90 {
		t.Fatalf("%+v", third)
	}
	log.rows[0]++
	log.left = []string{"markers"}
	if r := s.at(someDay.Add(2 * time.Hour)); r.State != pipeline.StateNothing || r.Scheduled.Sequence != 3 || !strings.Contains(r.Scheduled.Why, "there is no row") {
		t.Fatalf("%+v", r)
	}
	log.rows[0], log.left = log.rows[0]+60, nil
	if r := s.at(someDay.Add(3 * time.Hour)); r.State != pipeline.StateFinished || r.Scheduled.Sequence != 4 || r.Scheduled.Window.Partitions[0].First != 151 {
		t.Fatalf("%+v", r)
	}
}

// A window that was to begin at offsets that are gone is refused, and not at every look.
func TestWindowBehindRetention(t *testing.T) {
	s, log := onTopic(t, 50, 60)
	s.at(someDay)
	log.rows[0], log.gone = 180, 61
	runs := 0
	for minute := range 60 {
		if r := s.at(someDay.Add(time.Duration(minute+1) * time.Minute)); r != nil {
			if runs++; r.State != pipeline.StateFailed || r.Scheduled.Sequence != 0 || !strings.Contains(r.Fault, "are gone") {
				t.Fatalf("%+v", r)
			}
		}
	}
	if runs == 0 || runs > 8 {
		t.Errorf("%d runs in an hour", runs)
	}
}

// The first window begins where the topic ended at the first look.
func TestBeginOfTheFirstWindow(t *testing.T) {
	s, log := onTopic(t, 60, 180)
	log.latest = true
	s.at(someDay)
	log.rows[0] += 60
	r := s.at(someDay.Add(time.Hour))
	if r == nil || r.Scheduled.Sequence != 1 || r.Scheduled.Window.Partitions[0] != (pipeline.WindowPart{First: 180, End: 240}) {
		t.Errorf("%+v, %q", r, s.said)
	}
}

// Of two schedulers on one output one works: no number is reserved twice, and the windows follow one
// another.
func TestTwoSchedulersOnOneOutput(t *testing.T) {
	one, log := onTopic(t, 60, 60)
	other := newStage(t, one.job)
	other.store = one.store
	other.again()
	both := [2]*stage{one, other}
	for i := range 6 {
		now := someDay.Add(time.Duration(i) * time.Hour)
		first, second := both[i%2], both[1-i%2]
		train := first.Train
		meanwhile := func() {
			if r := second.at(now.Add(time.Minute)); r != nil {
				t.Errorf("both run: %+v", r)
			}
		}
		first.Train = func(ctx context.Context, j *schedule.Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			meanwhile()
			return train(ctx, j, job, rows, how)
		}
		if r := first.at(now); r == nil || r.State != pipeline.StateFinished || r.Scheduled.Sequence != int64(i+1) {
			t.Fatalf("%+v; %q; %q", r, one.said, other.said)
		}
		if first.Train = train; second.at(now.Add(2*time.Minute)) != nil {
			t.Error("the other one runs the same window")
		}
		log.rows[0] += 60
	}
	if one.follow() != 360 {
		t.Errorf("%d certificates", len(one.certificates()))
	}
}

// A state that is older than the runs, or the certificates, next to it gives no number.
func TestStaleState(t *testing.T) {
	for _, damaged := range []bool{false, true} { // the newest run
		s, log := onTopic(t, 60, 60)
		s.at(someDay)
		older, _, err := s.store.Note(schedule.StateFile)
		fatal.If(t, err)
		log.rows[0] += 60
		s.at(someDay.Add(time.Hour))
		runs := s.runs()
		if damaged {
			s.store = &pipelinetest.Store{Certificates: s.store.Certificates}
			fatal.If(t, s.store.PutRun(runs[0]))
			s.again()
		}
		fatal.If(t, s.store.PutNote(schedule.StateFile, older))
		r := s.at(someDay.Add(2 * time.Hour))
		if r == nil || r.State != pipeline.StateFailed || !strings.Contains(r.Fault, "number 2 of sequence") || len(s.certificates()) != 2 {
			t.Errorf("damaged %v: %+v", damaged, r)
		}
	}
}

// A number has one certificate, though what a run reads has changed between its certificate
// and the record of it: that of the first try stands, if it is what follows from its model.
func TestNumberHasOneCertificate(t *testing.T) {
	s, _ := onTopic(t, 60, 60)
	s.op = func(effect func() error) error {
		err := effect()
		if len(s.store.Certificates) == 1 {
			s.op = func(func() error) error { return errDies }
		}
		return err
	}
	s.at(someDay)
	s.again()
	s.kl = 70
	r := s.at(someDay.Add(time.Hour))
	if r.State != pipeline.StateFailed || r.Scheduled.Sequence != 1 || len(s.certificates()) != 1 || !strings.Contains(r.Fault, "another certificate") || !strings.Contains(r.Fault, "of an earlier try") {
		t.Errorf("%+v; %q", r, s.said)
	}
}

// A scheduler that dies before or after any step, and is started again when more has come,
// comes to one finished run for what was taken, with the certificate of one that was not killed.
func TestKilledAtEveryStep(t *testing.T) {
	for _, kind := range []string{"lake", "topic"} {
		for _, after := range []bool{false, true} {
			want := map[int64]string{}
			for at := 0; ; at++ { // 0: it is not killed
				if at > 50 {
					t.Fatal("no run survives")
				}
				s, log := onTopic(t, 60, 60)
				if kind == "lake" {
					s = onFiles(t, func(j *schedule.Job) { j.Files.Which = schedule.FilesNew })
				}
				steps := 0
				s.op = func(effect func() error) error {
					if steps++; at > 0 && (steps > at || steps == at && !after) {
						return errDies
					}
					return effect()
				}
				_, err := s.Look(t.Context(), s.job, someDay)
				if err != nil && !errors.Is(err, errDies) {
					t.Fatal(err)
				}
				survived := at > 0 && steps < at
				when := fmt.Sprintf("%s, step %d of %d, after it: %v", kind, at, steps, after)
				s.again()
				if kind == "lake" {
					s.at(someDay.Add(time.Hour))
				} else {
					if s.reserved() == 0 {
						s.at(someDay.Add(time.Hour))
					} else {
						log.rows[0] += 20 // too late for the window
						s.at(someDay.Add(time.Hour))
						log.rows[0] += 40
						s.at(someDay.Add(2 * time.Hour))
					}
				}
				got, err := s.store.Numbered(t.Context(), "waves")
				fatal.If(t, err)
				finished := 0
				for _, r := range s.runs() {
					if r.State == pipeline.StateRunning {
						t.Errorf("%s: %s", when, schedule.Words(r))
					}
					if r.State == pipeline.StateFinished && r.Scheduled.Sequence == 1 {
						finished++
					}
				}
				if at == 0 { // number, begin, certificate, pointer and end are one write each; a topic has the begin of its windows too
					if want = got; steps != map[string]int{"lake": 5, "topic": 6}[kind] {
						t.Errorf("a run on a %s takes %d writes", kind, steps)
					}
				}
				if p, err := s.store.Current(); err != nil || p == nil || got[1] != want[1] || finished != 1 || len(got) > 2 {
					t.Errorf("%s: %d finished, current %v, %v, certificates %v, want %v", when, finished, p, err, got, want)
				}
				if kind == "topic" {
					s.follow()
				}
				if survived {
					break
				}
			}
		}
	}
}

// That the end of the topic is unknown stops this job and no other, whatever the reason.
func TestLatestThatIsUnknown(t *testing.T) {
	s, log := onTopic(t, 60, 0)
	log.latest, log.fault = true, job.ErrConfig
	if r, err := s.Look(t.Context(), s.job, someDay); r != nil || err != nil || !strings.Contains(fmt.Sprint(s.said), "where its first window begins is not known") {
		t.Errorf("%+v, %v; %q", r, err, s.said)
	}
}

// A window that was frozen and cannot be begun with is not read again at every poll.
func TestFrozenWindowThatCannotBegin(t *testing.T) {
	s, _ := onTopic(t, 60, 60)
	s.op = func(effect func() error) error {
		err := effect()
		if s.reserved() > 0 {
			s.op = func(func() error) error { return errDies }
		}
		return err
	}
	if r := s.at(someDay); r != nil {
		t.Fatalf("%+v", r)
	}
	s.again()
	s.store.Certificates = append(s.store.Certificates, []byte("{"))
	for minute := range 60 {
		s.at(someDay.Add(time.Duration(minute) * time.Minute))
	}
	if n := len(s.runs()); n < 5 || n > 8 {
		t.Errorf("%d runs in an hour", n)
	}
	s.store.Certificates = nil
	if r := s.at(someDay.Add(2 * time.Hour)); r == nil || r.State != pipeline.StateFinished || r.Scheduled.Sequence != 1 {
		t.Errorf("%+v", r)
	}
}

// A scheduler that dies when another process has had the spool of its window gives the window
// not up: nothing has failed.
func TestKilledWhileAnotherHasTheSpool(t *testing.T) {
	for at := 1; at < 10; at++ {
		s, _ := onTopic(t, 60, 60)
		s.job.Retries = 0
		s.fail = fmt.Errorf("spool: %w", pipeline.ErrHeld)
		steps := 0
		s.op = func(effect func() error) error {
			if steps++; steps >= at {
				return errDies
			}
			return effect()
		}
		if _, err := s.Look(t.Context(), s.job, someDay); err != nil && !errors.Is(err, errDies) {
			t.Fatal(err)
		}
		s.again()
		s.fail = nil
		if r := s.at(someDay.Add(time.Hour)); r == nil || r.State != pipeline.StateFinished || r.Scheduled.Sequence != 1 || s.follow() != 60 {
			t.Errorf("step %d: %+v; %q", at, r, s.said)
		}
	}
}
