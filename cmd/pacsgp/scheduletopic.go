package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
)

// A job on a topic has one window after the other: each begins where the one before ended
// and ends at what is committed when its run begins. It is frozen in the record before a row
// is read, and never again: its rows get a certificate, or none. So where windows begin and
// end does not depend on what their rows say.

// topic is where the rows of a job come from if that is a topic, or nil.
func (j *scheduled) topic() *config.Topic {
	from, _ := j.prepared.Source.(*config.Topic)
	return from
}

// window is that of a run: the one that is to have a certificate still, or the next one.
func (j *scheduled) window(ctx context.Context, known *jobState, run *scheduledRun) (taking, error) {
	var w config.TopicWindow
	if known.Topic != nil && known.Topic.Window != nil {
		w = *known.Topic.Window
	} else {
		var err error
		if w, err = j.topic().Ahead(ctx, known.Topic, 0); err != nil {
			return taking{}, err
		}
	}
	run.Window = &w
	digest := j.topic().Numbered(w, versionLine())
	return taking{from: j.topic().Within(w, j.prepared.Output), digest: digest, number: digest, none: w.Offsets() == 0}, nil
}

// leave notes that no run goes on with a window: it has its certificate, or gets none.
func (s *scheduler) leave(j *scheduled, known *jobState, take taking) {
	known.Topic = known.Topic.Without()
	delete(known.Numbers, take.number)
	if from, ok := take.from.(*config.Topic); ok && !from.Spool.Keep {
		if err := kafkalog.Remove(from.Config.Folder); err != nil {
			s.say(fmt.Sprintf("%s: the spool of its last window stays: %v", j.Name, err))
		}
	}
}

// lookPatience is how long brokers are asked how far a topic is: it is looked again soon.
const lookPatience = 10 * time.Second

// firstSeen notes where the windows of a job begin that the record does not know: behind
// those that certificates of its name have, where the record is a new one; or, if it begins
// at the latest offset, at what that is now.
func (s *scheduler) firstSeen(ctx context.Context, j *scheduled, known *jobState) error {
	from := j.topic()
	stand := &config.TopicState{Topic: from.Topic}
	err := issued(ctx, j.prepared.Output, j.Name, func(_ string, c certify.Certificate) {
		for _, g := range c.Sample.Segments {
			if g.Topic != from.Topic {
				continue
			}
			if stand.Ends == nil {
				stand.Ends = map[int]int64{}
			}
			stand.Ends[int(g.Partition)] = max(stand.Ends[int(g.Partition)], g.End)
		}
	})
	if err != nil {
		return err
	}
	if stand.Ends == nil && from.Config.From.Offsets == nil && from.Config.From.Time == broker.Latest {
		w, err := from.Ahead(ctx, stand, lookPatience)
		if err != nil {
			s.unseen(fmt.Errorf("%s: where its first window begins is not known: %w", j.Name, err))
			return ctx.Err()
		}
		stand = stand.With(w).Without()
	}
	known.Topic = stand
	return s.record.save(j.Name, known, nil, nil)
}

// dueByLag asks the triggers that count offsets.
func (s *scheduler) dueByLag(ctx context.Context, j *scheduled, known *jobState, now time.Time) (*scheduledRun, error) {
	at := slices.IndexFunc(j.Triggers, func(t config.Trigger) bool { return t.Lag > 0 })
	if at < 0 && s.lagged == nil {
		return nil, nil
	}
	w, err := j.topic().Ahead(ctx, known.Topic, lookPatience)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && (at < 0 || broker.Temporary(err)):
		s.unseen(fmt.Errorf("%s: how far its topic is cannot be told: %w", j.Name, err))
		return nil, nil
	case err == nil:
		if s.lagged != nil {
			s.lagged(j, w.Offsets())
		}
		at = slices.IndexFunc(j.Triggers, func(t config.Trigger) bool { return t.Lag > 0 && w.Offsets() >= int64(t.Lag) })
	}
	if at < 0 {
		return nil, nil
	}
	return &scheduledRun{Trigger: j.Triggers[at].Key(), Moment: now, Try: 1}, nil // what no repetition mends is recorded as a run that failed
}

// once says what is not to be said at every look.
func (s *scheduler) once(text string) {
	if text != s.said {
		s.say(text)
		s.said = text
	}
}
