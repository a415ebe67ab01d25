package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// sentLog keeps what was sent, or fails before or after it does.
type sentLog struct {
	of   map[string]schedule.Sent
	step func() error
}

func (l *sentLog) Sent(job string) (*schedule.Sent, error) {
	if s, ok := l.of[job]; ok {
		return &s, nil
	}
	return nil, nil
}

func (l *sentLog) PutSent(job string, s schedule.Sent) error {
	if err := l.step(); err != nil {
		return err
	}
	l.of[job] = s
	return nil
}

// A receiver dies and comes back, and the process that sends dies at every place: each event is
// received once or more, none is lost, and their order is that of the runs.
func TestEventsOnceOrMore(t *testing.T) {
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Triggers, j.Promote = []schedule.Trigger{hourly(t)}, watch.Promotion{Error: .05, MaxAge: 5 * time.Hour}
	}))
	var received []string
	seen := map[string]int{}
	steps, dies := 0, -1
	step := func() error {
		if steps++; steps == dies {
			return errors.New("it dies here")
		}
		return nil
	}
	log := &sentLog{of: map[string]schedule.Sent{}, step: step}
	away := false
	send := func(now time.Time) error { // by a process of its own
		sender := &schedule.Sender{Jobs: []*schedule.Job{s.job}, Log: log, Warn: func(string) {}, Post: func(_ context.Context, e schedule.Event) error {
			if away {
				return errors.New("nobody answers")
			}
			if err := step(); err != nil { // it was not received
				return err
			}
			if seen[e.ID]++; seen[e.ID] == 1 {
				received = append(received, fmt.Sprintf("%s %d", e.Type, e.Run))
			}
			return step() // received, and the answer is lost
		}}
		return sender.Send(t.Context(), now)
	}
	s.at(someDay)
	fatal.If(t, send(someDay)) // nothing yet
	away = true
	var now time.Time
	for i, change := range []func(){
		func() {}, func() { s.fail = errors.New("no luck") }, func() { s.fail, s.kl = nil, 50000 }, func() { s.kl = 60 },
	} {
		change()
		s.lake.add(string(rune('e'+i)), 60)
		now = someDay.Add(time.Duration(i+1) * time.Hour)
		s.at(now)
		if err := send(now); err == nil {
			t.Fatalf("night %d: nobody has received it, and nothing was said", i)
		}
	}
	runs := s.runs()
	last := runs[len(runs)-1]
	last.Scheduled.Test = &pipeline.RowsTest{Certificate: schedule.Certificate(runs[0]), Rows: 100, Loss: 1, Bound: 1, Alarm: true}
	fatal.If(t, s.store.PutRun(last))
	away = false
	for dies = 1; ; dies++ { // each time one step further
		if steps = 0; send(now) == nil {
			break
		}
	}
	want := []string{"certified 1", "promoted 1", "failed 2", "refused 3", "alarm 4", "certified 4"}
	if !slices.Equal(received, want) {
		t.Errorf("received %q, want %q", received, want)
	}
	dies, received = -1, nil // from now on it lives
	fatal.If(t, send(now.Add(10*time.Hour)))
	fatal.If(t, send(now.Add(11*time.Hour)))
	if !slices.Equal(received, []string{"stale 0"}) {
		t.Errorf("later: %q", received)
	}
	if len(seen) != len(want)+1 {
		t.Errorf("%d events, want %d: %v", len(seen), len(want)+1, seen)
	}
}
