package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// An Event is news of a job. It has the same ID whenever it is sent.
type Event struct {
	ID   string
	Type EventType
	Job  string
	Time time.Time

	Run         uint64             // number of the run, or 0
	Certificate string             // or ""
	Why         string             // or ""
	Test        *pipeline.RowsTest // of an alarm
}

// An EventType says what happened.
type EventType string

// Types of events.
const (
	EventCertified EventType = "certified" // a run has a certificate that moves the pointer, or may
	EventPromoted  EventType = "promoted"  // a certificate has become current
	EventRefused   EventType = "refused"   // a certificate will not become current
	EventFailed    EventType = "failed"    // a run has failed
	EventAlarm     EventType = "alarm"     // new rows contradict the current certificate
	EventStale     EventType = "stale"     // the current certificate is older than max_age
)

// Sent says which events of a job were sent.
type Sent struct {
	Through time.Time `json:"through"` // beginning of the last run whose events were all sent
	Current string    `json:"current,omitempty"`
	Alarm   string    `json:"alarm,omitempty"`
	Stale   string    `json:"stale,omitempty"` // certificates of the last events of these types
}

// A SentLog keeps what was sent.
type SentLog interface {
	// Sent is what was sent of a job, nil for a new one.
	Sent(job string) (*Sent, error)
	// PutSent replaces it, durably.
	PutSent(job string, s Sent) error
}

// A Sender sends the events of jobs, each once or more. They follow from the records of runs and the
// pointer, so that none is lost if a receiver, or this process, is away.
type Sender struct {
	Jobs []*Job // their outputs are only read
	Log  SentLog
	Post func(ctx context.Context, e Event) error // returns after the receiver's answer
	Warn func(text string)                        // called when sending begins to fail, and when it works again

	failing bool
}

// longestPause is the longest pause between two attempts.
const longestPause = 5 * time.Minute

// Serve sends events as they come, until ctx is done. After a failure it tries again, later each time.
func (s *Sender) Serve(ctx context.Context, every time.Duration, clock Clock) {
	for wait := every; ctx.Err() == nil; {
		if err := s.Send(ctx, clock.Now()); err == nil {
			wait = every
		} else {
			wait = min(2*wait, longestPause)
		}
		select {
		case <-ctx.Done():
		case <-clock.After(wait):
		}
	}
}

// Begin notes where the events of new jobs begin: with what happens from now on.
func (s *Sender) Begin() error {
	for _, j := range s.Jobs {
		if sent, err := s.Log.Sent(j.Name); sent != nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		at, err := j.Standing()
		if err != nil {
			continue // a damaged pointer must not end a service; it begins when that is mended
		}
		var first Sent
		if at.Last != nil {
			first.Through = at.Last.Began
		}
		if at.Current != nil {
			first.Current = at.Current.ID
		}
		if err := s.Log.PutSent(j.Name, first); err != nil {
			return err
		}
	}
	return nil
}

// Send sends what was not sent yet, up to the first failure of each job.
func (s *Sender) Send(ctx context.Context, now time.Time) (failed error) {
	if failed = s.Begin(); failed == nil {
		for _, j := range s.Jobs {
			if err := s.sendOf(ctx, j, now); err != nil {
				failed = err
			}
		}
	}
	if was := s.failing; !errors.Is(ctx.Err(), context.Canceled) && was != (failed != nil) {
		if s.failing = !was; s.failing {
			s.Warn(fmt.Sprintf("events wait: %v; they are sent later", failed))
		} else {
			s.Warn("events are sent again")
		}
	}
	return failed
}

func (s *Sender) sendOf(ctx context.Context, j *Job, now time.Time) error {
	sent, err := s.Log.Sent(j.Name)
	if err != nil || sent == nil {
		return err
	}
	runs, err := j.runsAfter(sent.Through)
	if err != nil {
		return err
	}
	send := func(e Event) error {
		e.Job = j.Name
		return s.Post(ctx, e)
	}
	for _, r := range runs {
		for _, e := range eventsOf(r, sent) {
			if err := send(e); err != nil {
				return err
			}
		}
		sent.Through = r.Began
		if err := s.Log.PutSent(j.Name, *sent); err != nil {
			return err
		}
	}
	current, err := j.Output.Current()
	if err != nil || current == nil {
		return err
	}
	if current.ID != sent.Current { // by hand, say
		if err := send(Event{ID: fmt.Sprintf("promoted-%.16s-%d", current.ID, current.Since.Unix()), Type: EventPromoted, Time: current.Since, Certificate: current.ID}); err != nil {
			return err
		}
		sent.Current = current.ID
		if err := s.Log.PutSent(j.Name, *sent); err != nil {
			return err
		}
	}
	if age := j.Promote.MaxAge; age > 0 && now.Sub(current.Since) > age && sent.Stale != current.ID {
		if err := send(Event{ID: fmt.Sprintf("stale-%.16s", current.ID), Type: EventStale, Time: current.Since.Add(age), Certificate: current.ID, Why: fmt.Sprintf("it is current for more than %v", age)}); err != nil {
			return err
		}
		sent.Stale = current.ID
		return s.Log.PutSent(j.Name, *sent)
	}
	return nil
}

// runsAfter are the ended runs of a job that began after a time, the oldest first.
func (j *Job) runsAfter(t time.Time) (found []*pipeline.RunState, err error) {
	all, err := j.Output.Runs()
	if err != nil {
		return nil, err
	}
	for r := range all {
		if !r.Began.After(t) {
			break
		}
		if r.Scheduled != nil && r.Scheduled.Job == j.Name && r.Ended != nil {
			found = append(found, r)
		}
	}
	slices.Reverse(found)
	return found, nil
}

// eventsOf are the events of a run, which sent takes as sent.
func eventsOf(r *pipeline.RunState, sent *Sent) (all []Event) {
	of, id := r.Scheduled, Certificate(r)
	add := func(t EventType, certificate, why string) {
		all = append(all, Event{ID: r.Run + "-" + string(t), Type: t, Time: *r.Ended, Run: of.Number, Certificate: certificate, Why: why})
	}
	if of.Test != nil && of.Test.Alarm && sent.Alarm != of.Test.Certificate {
		add(EventAlarm, of.Test.Certificate, of.Tested)
		all[len(all)-1].Test, sent.Alarm = of.Test, of.Test.Certificate
	}
	if of.Promoted != "" && of.Promoted != sent.Current {
		add(EventPromoted, of.Promoted, "")
		sent.Current = of.Promoted
	}
	switch {
	case r.State == pipeline.StateFailed:
		add(EventFailed, "", r.Fault)
	case r.State != pipeline.StateFinished || r.Exit == nil:
	case *r.Exit != 0:
		add(EventRefused, id, reason(r))
	default:
		add(EventCertified, id, of.Why)
		if of.Current && id != sent.Current {
			add(EventPromoted, id, of.Why)
			sent.Current = id
		} else if !of.Current && !of.Waits {
			add(EventRefused, id, of.Why)
		}
	}
	return all
}
