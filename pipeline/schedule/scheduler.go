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

// A Scheduler runs jobs when they are due. It decides by what is stored in their outputs and by the time that it is
// given. It has no clock and starts no goroutine. Only Poll is required.
type Scheduler struct {
	Poll time.Duration // time between two checks of what is due

	Now bool // run jobs and retries at once, even if they are not due

	// Train trains a job that has its rows and its number; nil means [pipeline.Train].
	Train    func(ctx context.Context, j *Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error)
	Observer job.Observer // gets failures as warnings
	// Ended, if not nil, is called at the end of each run, however it ended.
	Ended func(j *Job, r *pipeline.RunState)
	// Seen, if not nil, is called after each check of a job. fault says why the job cannot run or why it is not known
	// whether it is due. It is nil otherwise, and while another process works for the job.
	Seen func(j *Job, fault error)
	// Damaged, if not nil, is called after a check without a run. It returns why the current model of a job cannot be
	// used, or nil.
	Damaged func(j *Job) error
	// Lagged, if not nil, is called with the number of offsets of a job's topic after its last window.
	Lagged func(j *Job, offsets int64)

	lookFault error // why the last check could not decide whether its job is due, or nil
}

// errHold means that a check has something to write, for which it must hold the output.
var errHold = errors.New("schedule: something is due")

// Look checks whether a job is due at the time now, runs it if it is, and returns the record of the run, or nil without
// a run. It returns an error for a changed or incomplete job. A failure of the run is in its record; a failure to read
// or write the job's output is a warning.
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
		if errors.Is(fault, pipeline.ErrHeld) { // another process works for the job
			fault = nil
		}
		if s.Seen != nil {
			s.Seen(j, fault)
		}
	}()
	r, err = s.look(ctx, j, false, now)
	if errors.Is(err, errHold) { // only one of two schedulers gets the output, and checks again
		r, err = pipeline.Holding(j.Output, func() (*pipeline.RunState, error) { return s.look(ctx, j, true, now) })
	}
	if err == nil && r == nil && s.lookFault == nil { // which model is current, and can it be used?
		if _, err = j.current(); err == nil && s.Damaged != nil {
			err = s.Damaged(j)
		}
	}
	switch {
	case err == nil || errors.Is(err, job.ErrConfig):
		return r, err
	case ctx.Err() != nil:
		return r, ctx.Err()
	default: // what is due is due at the next check
		s.lookFailed(j, fmt.Errorf("%s: %w", j.Name, err))
		return r, nil
	}
}

// look runs what is due. If the output is not held, it returns [errHold] instead of writing something.
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

// next returns the run that is to begin now, or nil: a retry, the frozen window of an earlier run, or a run that is due.
func (s *Scheduler) next(ctx context.Context, j *Job, state *jobState, held bool, now time.Time) (*pipeline.Scheduled, error) {
	if r := state.again; r != nil {
		if longest := j.backoff(r.Try-2) + mostSkew; !s.Now && now.Before(*r.Due) && r.Due.Before(now.Add(longest)) {
			return nil, nil
		}
		return r, nil
	}
	if j.Topic != nil && state.Topic.Window != nil { // frozen by a run that could not begin
		if !s.Now && s.backsOff(j, state, now, "its window is tried again", nil) {
			return nil, nil
		}
		return &pipeline.Scheduled{Trigger: "unfinished window", Moment: now, Try: 1}, nil
	}
	if s.Now {
		return &pipeline.Scheduled{Trigger: "by hand", Moment: now, Try: 1}, nil
	}
	return s.due(ctx, j, state, held, now)
}

// due returns the run that the triggers ask for, or nil. One run covers all moments of all triggers up to now, and has
// the latest of them as its moment, so that runs neither overlap nor queue.
func (s *Scheduler) due(ctx context.Context, j *Job, state *jobState, held bool, now time.Time) (found *pipeline.Scheduled, err error) {
	begun := false
	for _, t := range j.Triggers {
		if t.Moments == nil {
			continue
		}
		last, seen := state.Last[t.Key]
		if !seen || last.After(now.Add(mostSkew)) { // a new trigger, or the clock was wrong
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
	case begun && !held:
		return nil, errHold
	case begun:
		return nil, errors.Join(j.put(state), j.noteDue(state, now))
	}
	return nil, nil
}

// noteDue corrects the next time of the job in its newest record, which the console shows, after triggers have changed.
func (j *Job) noteDue(state *jobState, now time.Time) error {
	r, err := j.last(nil)
	if err != nil || r == nil || r.Ended == nil {
		return err
	}
	r.Scheduled.Due = j.due(state, now)
	return j.Output.PutRun(r)
}

// due returns the next moment of a job: the first of a trigger after its last one with a run, or after now for a new
// trigger. It returns nil if no trigger has moments.
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

// mostSkew is how far ahead of the clock a recorded last moment, or a retry after its backoff, may be. If it is further
// ahead, the clock was wrong when it was recorded.
const mostSkew = 48 * time.Hour

// longestBackoff is the longest pause before rows, files and offsets are counted again.
const longestBackoff = time.Hour

// backsOff reports whether it is too early for what after a run whose rows could not be chosen. due is when the job runs
// whether or not it is too early; nil if no trigger has moments.
func (s *Scheduler) backsOff(j *Job, state *jobState, now time.Time, what string, due *time.Time) bool {
	if !now.Before(state.notBefore) || !state.notBefore.Before(now.Add(2*longestBackoff)) {
		return false
	}
	s.lookFault = fmt.Errorf("%s: the last run has failed, and none has begun since: %s; %s at %s\nhint: %s", j.Name, state.fault, what, state.notBefore.UTC().Format("15:04:05 UTC"), TryAgain(j.Name, due))
	return true
}

// dueByData returns the run that the triggers on rows, files and offsets ask for, or nil. Its moment depends on the
// number of rows and their times only, not on their values.
func (s *Scheduler) dueByData(ctx context.Context, j *Job, state *jobState, now time.Time) (*pipeline.Scheduled, error) {
	counts := slices.ContainsFunc(j.Triggers, func(t Trigger) bool { return t.Moments == nil })
	switch {
	case counts && s.backsOff(j, state, now, "new data is counted again", j.due(state, now)):
		return nil, nil
	case j.Topic != nil:
		return s.dueByLag(ctx, j, state.Topic, now)
	case !counts:
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
	if j.Files.Which == FilesNew { // runs before the last one may have used some of them
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

// lookFailed warns that it is not known whether a job is due. It does not repeat a warning.
func (s *Scheduler) lookFailed(j *Job, err error) {
	s.lookFault = err
	if text := err.Error(); text != j.said {
		s.Observer.ReportWarning(text)
		j.said = text
	}
}

// Words returns one line about the end of a scheduled run.
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
		return text + ", is now current (" + r.Reason() + ")"
	case id != "":
		text += ", not current"
	}
	return strings.TrimSuffix(text+": "+r.Reason(), ": ")
}

// Certificate returns the id of a run's certificate, or "" if it has none.
func Certificate(r *pipeline.RunState) string {
	if len(r.Artifacts) == 0 {
		return ""
	}
	return r.Artifacts[0].ID
}

// A job on a topic has consecutive windows. Each begins at the end of the one before and ends with the record that is
// the last committed one when its run begins. It is frozen in the output before a row is read, so that its ends do not
// depend on its rows. Its rows are in at most one certificate.

// lookPatience is the longest wait for brokers at a check.
const lookPatience = 10 * time.Second

// firstSeen records where the first window of a job begins: at the end of the topic if the job says so. If brokers do
// not answer, it warns and leaves state.Topic nil.
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

// dueByLag returns the run that the triggers on offsets ask for, or nil.
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
