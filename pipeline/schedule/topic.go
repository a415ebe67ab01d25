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

// firstSeen records where the first window of a job without a sequence begins: at the end of its
// certificates if only the sequence was lost, or at the latest offset if the job says so. It is
// nil, with a warning, if that is unknown.
func (s *Scheduler) firstSeen(ctx context.Context, j *Job) (*pipeline.Windows, error) {
	ends, err := j.certifiedEnds(ctx)
	if err != nil {
		return nil, err
	}
	first := &pipeline.Windows{Topic: j.Topic.Name(), Ends: ends}
	if ends == nil && j.Topic.AtLatest() {
		w, err := j.Topic.Next(ctx, first, lookPatience)
		if err != nil {
			s.lookFailed(j, fmt.Errorf("%s: where its first window begins is not known: %w", j.Name, err))
			return nil, ctx.Err()
		}
		first = first.With(w).Without()
	}
	return holding(j.Output, func() (*pipeline.Windows, error) {
		at, err := j.sequence()
		if err != nil || at.Topic != nil { // another scheduler was faster
			return at.Topic, err
		}
		at.Topic = first
		return first, j.Output.PutSequence(j.Name, at)
	})
}

// certifiedEnds are the ends of the job's certified windows, nil if there is none.
func (j *Job) certifiedEnds(ctx context.Context) (map[int]int64, error) {
	all, err := j.Output.Numbered(ctx, j.Name)
	if err != nil {
		return nil, err
	}
	var ends map[int]int64
	for _, id := range all {
		c, err := j.Output.GetCertificate(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, g := range c.Sample.Segments {
			if g.Topic != j.Topic.Name() {
				continue
			}
			if ends == nil {
				ends = map[int]int64{}
			}
			ends[int(g.Partition)] = max(ends[int(g.Partition)], g.End)
		}
	}
	return ends, nil
}

// dueByLag asks the triggers that count offsets.
func (s *Scheduler) dueByLag(ctx context.Context, j *Job, at pipeline.Sequence, now time.Time) (*pipeline.Scheduled, error) {
	var trigger *Trigger
	for i := range j.Triggers {
		if j.Triggers[i].Offsets > 0 && (trigger == nil || j.Triggers[i].Offsets < trigger.Offsets) {
			trigger = &j.Triggers[i]
		}
	}
	if trigger == nil && s.Lagged == nil {
		return nil, nil
	}
	w, err := j.Topic.Next(ctx, at.Topic, lookPatience)
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
