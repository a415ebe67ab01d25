package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A job on a topic has consecutive windows: each begins at the end of the one before and ends
// with the last committed record when its run begins. It is frozen in the output before a row is
// read, and its rows get one certificate, or none. So its ends do not depend on its rows.

// lookPatience bounds the wait for brokers at a look.
const lookPatience = 10 * time.Second

// firstSeen records where the first window of a job begins: at the latest offset if the job says so. It
// is nil, with a warning, if that is unknown.
func (s *Scheduler) firstSeen(ctx context.Context, j *Job, state *State, held bool) error {
	if !held {
		return errHold
	}
	first := &pipeline.Windows{Topic: j.Topic.Name()}
	if j.Topic.AtLatest() {
		w, err := j.Topic.Next(ctx, first, lookPatience)
		if err != nil {
			s.lookFailed(j, fmt.Errorf("%s: where its first window begins is not known: %w", j.Name, err))
			return ctx.Err()
		}
		first = first.With(w).Without()
	}
	state.Topic = first
	return j.put(state)
}

// dueByLag asks the triggers that count offsets.
func (s *Scheduler) dueByLag(ctx context.Context, j *Job, before *pipeline.Windows, now time.Time) (*pipeline.Scheduled, error) {
	var trigger *Trigger
	for i := range j.Triggers {
		if j.Triggers[i].Offsets > 0 && (trigger == nil || j.Triggers[i].Offsets < trigger.Offsets) {
			trigger = &j.Triggers[i]
		}
	}
	if trigger == nil && s.Lagged == nil {
		return nil, nil
	}
	w, err := j.Topic.Next(ctx, before, lookPatience)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && (trigger == nil || errors.Is(err, ErrAway)):
		s.lookFailed(j, fmt.Errorf("%s: the end of its topic is not known: %w", j.Name, err))
		return nil, nil
	case err == nil:
		if s.Lagged != nil {
			s.Lagged(j, w.Offsets())
		}
		if trigger == nil || w.Offsets() < trigger.Offsets {
			return nil, nil
		}
	}
	return &pipeline.Scheduled{Trigger: trigger.Key, Moment: now, Try: 1}, nil // other faults make a failed run
}
