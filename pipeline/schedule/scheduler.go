package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Scheduler decides when to run which job, from what the jobs' outputs have of them and the time of a
// look. It has no clock and starts no goroutine. Only Poll is required.
type Scheduler struct {
	Poll time.Duration // between two checks of what is due

	Now bool // jobs run at once, due or not, and retries do not wait

	// Train trains a job that has its rows and its number; nil means [pipeline.Train].
	Train    func(ctx context.Context, j *Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error)
	Observer job.Observer // its warnings are about failures
	// Ended is called at the end of each run, however it ended.
	Ended func(j *Job, r *pipeline.RunState)
	// Seen is called after each look at a job. The fault says why the job cannot run, or why it is
	// not known whether it is due.
	Seen func(j *Job, fault error)
	// Damaged returns why the current model of a job cannot be used, or nil; it is called after a look without a run.
	Damaged func(j *Job) error
	Lagged  func(j *Job, offsets int64) // called with the offsets of a job's topic behind its last window

	lookFault error // why the last look did not find out whether its job is due
}

// errHold says that a look has something to write, for which the output is to be held.
var errHold = errors.New("schedule: something is due")

// Look runs what is due of a job by now, and returns the record of the run, nil without one. It
// fails for a changed or incomplete job. Failures of a run are in its record; those of the job's output
// are messages.
func (s *Scheduler) Look(ctx context.Context, j *Job, now time.Time) (r *pipeline.RunState, err error) {
	s.lookFault, j.How.Required = nil, cmp.Or(j.How.Required, certify.PredictorMean)
	defer func() {
		if j.checked = now; ctx.Err() != nil {
			return
		}
		fault := cmp.Or(s.lookFault, err)
		if fault == nil {
			j.said = ""
		}
		if s.Seen != nil {
			s.Seen(j, fault)
		}
	}()
	r, err = s.look(ctx, j, false, now)
	if errors.Is(err, errHold) { // of two schedulers that see it one has the output
		r, err = pipeline.Holding(j.Output, func() (*pipeline.RunState, error) { return s.look(ctx, j, true, now) })
	}
	if err == nil && r == nil && s.lookFault == nil {
		err = s.damaged(j)
	}
	switch {
	case err == nil || errors.Is(err, job.ErrConfig):
		return r, err
	case ctx.Err() != nil:
		return r, ctx.Err()
	default: // it is due still
		s.lookFailed(j, fmt.Errorf("%s: %w", j.Name, err))
		return r, nil
	}
}

// damaged returns why it is unknown which model of a job is current, or why that one cannot be used.
func (s *Scheduler) damaged(j *Job) error {
	_, err := j.current()
	if err == nil && s.Damaged != nil {
		err = s.Damaged(j)
	}
	return err
}

// look runs what is due. Without a hold it is [errHold] if there is something to write.
func (s *Scheduler) look(ctx context.Context, j *Job, held bool, now time.Time) (*pipeline.RunState, error) {
	state, err := j.state(ctx)
	if err == nil {
		err = s.settle(j, state, held, now)
	}
	if err == nil && j.Topic != nil && state.Topic == nil {
		if err = s.firstSeen(ctx, j, state, held); state.Topic == nil && err == nil {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	run, err := s.next(ctx, j, state, held, now)
	switch {
	case err != nil || run == nil:
		return nil, err
	case !held:
		return nil, errHold
	default:
		return s.begin(ctx, j, state, run, now)
	}
}

// next is the run that is to begin now: a retry, a frozen window, or a run that is due.
func (s *Scheduler) next(ctx context.Context, j *Job, state *jobState, held bool, now time.Time) (*pipeline.Scheduled, error) {
	if r := state.again; r != nil {
		if longest := j.backoff(r.Try-2) + mostSkew; !s.Now && now.Before(*r.Due) && r.Due.Before(now.Add(longest)) {
			return nil, nil
		}
		return r, nil
	}
	if j.Topic != nil && state.Topic.Window != nil { // it could not be begun with
		if !s.Now && s.backsOff(j, state, now) {
			return nil, nil
		}
		return &pipeline.Scheduled{Trigger: "unfinished window", Moment: now, Try: 1}, nil
	}
	if s.Now {
		return &pipeline.Scheduled{Trigger: "by hand", Moment: now, Try: 1}, nil
	}
	return s.due(ctx, j, state, held, now)
}

// due returns the run that the triggers ask for, or nil. It covers all moments of all triggers up to
// now, so that it has the latest one: runs neither overlap nor queue, and nothing due waits for the next
// look.
func (s *Scheduler) due(ctx context.Context, j *Job, state *jobState, held bool, now time.Time) (found *pipeline.Scheduled, err error) {
	begun := false
	for _, t := range j.Triggers {
		if t.Moments == nil {
			continue
		}
		last, seen := state.Last[t.Key]
		if !seen || last.After(now.Add(mostSkew)) { // new; or the clock was wrong
			state.Last[t.Key], begun = now, true
			continue
		}
		moment := dueSince(t.Moments, last, now)
		if moment.IsZero() {
			continue
		}
		state.Last[t.Key] = moment
		if found == nil || moment.After(found.Moment) {
			found = &pipeline.Scheduled{Trigger: t.Key, Moment: moment, Try: 1}
		}
	}
	if found != nil && j.Topic != nil { // a window ends when its run begins
		return found, nil
	}
	run, err := s.dueByData(ctx, j, state, now)
	switch {
	case err != nil:
		return nil, err
	case found != nil && (run == nil || !run.Moment.After(found.Moment)):
		s.lookFault = nil // the run says what it cannot read
		return found, nil
	case run != nil:
		return run, nil
	}
	if begun && !held {
		return nil, errHold
	}
	if begun {
		err = errors.Join(j.put(state), j.noteDue(state, now))
	}
	return nil, err
}

// noteDue corrects when the job runs next in its newest record, which the console shows: its triggers
// have changed.
func (j *Job) noteDue(state *jobState, now time.Time) error {
	r, err := j.last(nil)
	if err != nil || r == nil || r.Ended == nil {
		return err
	}
	r.Scheduled.Due = j.due(state, now)
	return j.Output.PutRun(r)
}

// due is the first moment of a job behind those that had a run, of new triggers behind now; nil
// without one.
func (j *Job) due(state *jobState, now time.Time) (first *time.Time) {
	for _, t := range j.Triggers {
		if t.Moments != nil {
			last, seen := state.Last[t.Key]
			if !seen {
				last = now
			}
			if at := t.Moments.Next(last).UTC(); first == nil || at.Before(*first) {
				first = &at
			}
		}
	}
	return first
}

// mostSkew bounds how far ahead of the clock the last moment, or a retry after its backoff, may
// be. If it is further ahead, the clock was wrong when it was recorded.
const mostSkew = 48 * time.Hour

// longestBackoff is the longest pause in counting rows, files and offsets.
const longestBackoff = time.Hour

// backsOff reports whether it is too early for a look after a failed one.
func (s *Scheduler) backsOff(j *Job, state *jobState, now time.Time) bool {
	if !now.Before(state.notBefore) || !state.notBefore.Before(now.Add(2*longestBackoff)) {
		return false
	}
	s.lookFault = fmt.Errorf("%s: the last run has failed: %s; next run at %s", j.Name, state.fault, state.notBefore.UTC().Format("15:04:05 UTC"))
	return true
}

// dueByData asks the triggers that count rows, files and offsets. A moment depends on the number
// of rows and their times only, not on their values.
func (s *Scheduler) dueByData(ctx context.Context, j *Job, state *jobState, now time.Time) (*pipeline.Scheduled, error) {
	if s.backsOff(j, state, now) {
		return nil, nil
	}
	if j.Topic != nil {
		return s.dueByLag(ctx, j, state.Topic, now)
	}
	if !slices.ContainsFunc(j.Triggers, func(t Trigger) bool { return t.Rows > 0 || t.Files > 0 }) {
		return nil, nil
	}
	all, err := j.Lake.Files(ctx)
	if err != nil {
		s.lookFailed(j, fmt.Errorf("%s: the lake cannot be listed: %w", j.Name, err))
		return nil, ctx.Err()
	}
	var before []string // the files of the last run with a number
	for _, f := range state.files() {
		before = append(before, versionOf(f))
	}
	fresh := without(manifestFiles(all), versionOf, before)
	if j.Files.Which == FilesNew { // earlier runs may have used what the run before did not
		fresh = state.unused(fresh)
	}
	for _, t := range j.Triggers {
		at, ok := t.reached(fresh, now)
		if at = at.Add(s.Poll); j.checked.IsZero() || at.After(now) {
			at = now
		}
		if ok {
			return &pipeline.Scheduled{Trigger: t.Key, Moment: at, Try: 1}, nil
		}
	}
	return nil, nil
}

// lookFailed warns, once, that it is not known whether a job is due.
func (s *Scheduler) lookFailed(j *Job, err error) {
	s.lookFault = err
	if text := err.Error(); text != j.said {
		s.Observer.ReportWarning(text)
		j.said = text
	}
}

// Words describe the end of a scheduled run in a line.
func Words(r *pipeline.RunState) string {
	of := r.Scheduled
	text := fmt.Sprintf("%s: run %d (%s): %s", of.Job, of.Number, of.Trigger, r.State)
	if of.Window != nil {
		text += ", " + of.Window.String()
	}
	if of.Sequence > 0 {
		text += fmt.Sprintf(", number %d of its sequence", of.Sequence)
	}
	id := Certificate(r)
	if id != "" {
		text += fmt.Sprintf(", certificate %.12s…", id)
	}
	switch {
	case of.Current:
		text += ", now current"
	case id != "":
		text += ", not current"
	}
	return strings.TrimSuffix(text+": "+r.Reason(), ": ")
}

// Certificate is the id of a run's certificate, "" if it has none.
func Certificate(r *pipeline.RunState) string {
	if len(r.Artifacts) == 0 {
		return ""
	}
	return r.Artifacts[0].ID
}

// A job on a topic has consecutive windows: each begins at the end of the one before and ends
// with the last committed record when its run begins. It is frozen in the output before a row is
// read, and its rows get one certificate, or none. So its ends do not depend on its rows.

// lookPatience bounds the wait for brokers at a look.
const lookPatience = 10 * time.Second

// firstSeen records where the first window of a job begins: at the latest offset if the job says so. It
// is nil, with a warning, if that is unknown.
func (s *Scheduler) firstSeen(ctx context.Context, j *Job, state *jobState, held bool) error {
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
