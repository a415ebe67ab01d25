package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A lot is the rows of a run: files, or a window.
type lot struct {
	rows      pipeline.Rows
	digest    string
	number    string // key of its number in the sequence
	none      bool   // no new row since the run before
	certified string // id of the certificate with its number, if there is one already
	job       pipeline.Job
}

// begin chooses the files of a run, or its window, takes its number in the sequence, records
// the run, runs it, and records its end. A run that dies before its record is still due.
func (s *Scheduler) begin(ctx context.Context, j *Job, state *State, seen pipeline.Sequence, run *pipeline.Scheduled, now time.Time) (r *pipeline.RunState, err error) {
	at, err := j.sequence()
	if err == nil && at.Taken != seen.Taken {
		err = errTaken
	}
	if err != nil {
		return nil, err
	}
	state.Retry, run.Due = nil, j.due(state, now)
	of, err := s.choose(ctx, j, state, at, run)
	if err == nil && !of.none {
		if err = s.number(ctx, j, &at, run, &of); err == nil {
			of.job = j.Job.Numbered(j.Name, run.Sequence)
		}
	}
	switch {
	case ctx.Err() != nil: // the run is still due
		return nil, ctx.Err()
	case err != nil:
		return s.endUnchosen(j, state, run, err, now)
	}
	state.Unchosen, state.NotBefore, state.Fault = 0, time.Time{}, ""
	if of.none {
		if r, err = s.endWithoutRows(j, run, now); err != nil {
			return nil, err
		}
		return r, s.put(j, state)
	}
	if state.Open, err = j.name(run, now); err != nil {
		return nil, err
	}
	state.Retry = sameTry(run, now) // if it dies before its record
	if err := s.put(j, state); err != nil {
		return nil, err
	}
	if r, err = pipeline.BeginRun(j.Output, state.Open, j.Job, now, run); err != nil {
		return nil, err
	}
	return r, s.train(ctx, j, state, r, of, now)
}

// endUnchosen records a run whose files, or window, could not be chosen. Rows, files and offsets
// are counted again after a pause.
func (s *Scheduler) endUnchosen(j *Job, state *State, run *pipeline.Scheduled, fault error, now time.Time) (*pipeline.RunState, error) {
	files := run.Files
	run.Window, run.Files = nil, nil
	r, err := s.endUntrained(j, run, pipeline.StateFailed, fault, now)
	if err != nil {
		return nil, err
	}
	if state.Retry = nextTry(j, r, now); state.Retry != nil {
		state.Retry.Files = files
	}
	state.NotBefore = now.Add(min(longestBackoff, j.backoff(state.Unchosen)))
	state.Unchosen, state.Fault = state.Unchosen+1, r.Fault
	s.tell(true, Words(r))
	return r, s.put(j, state)
}

// name numbers a run among those of its job, and names its record.
func (j *Job) name(run *pipeline.Scheduled, now time.Time) (string, error) {
	run.Job, run.Number = j.Name, 1
	if run.Files == nil {
		run.Files = []pipeline.ManifestFile{}
	}
	last, err := j.last(anyRun)
	if last != nil {
		run.Number = last.Scheduled.Number + 1
	}
	return hexOf(j.Name, run.Number, now)[:12], err
}

// endUntrained records a run that ended before training.
func (s *Scheduler) endUntrained(j *Job, run *pipeline.Scheduled, as pipeline.State, fault error, now time.Time) (*pipeline.RunState, error) {
	name, err := j.name(run, now)
	if err != nil {
		return nil, err
	}
	r, err := pipeline.BeginRun(j.Output, name, j.Job, now, run)
	if err != nil {
		return nil, err
	}
	if fault == nil {
		return r, s.end(j, r, as, nil, "", now)
	}
	exit := pipeline.ExitStatus(fault)
	return r, s.end(j, r, as, &exit, pipeline.Shortened(fault.Error()), now)
}

// end records the end of a run.
func (s *Scheduler) end(j *Job, r *pipeline.RunState, as pipeline.State, exit *int, fault string, at time.Time) error {
	r.Exit, at = exit, at.UTC()
	if retry := nextTry(j, r, at); as == pipeline.StateFailed && retry != nil {
		r.Scheduled.Due = &retry.At
	} else if as == pipeline.StateInterrupted || as == pipeline.StateFailed && exit == nil {
		r.Scheduled.Due = &at // to be resumed
	}
	err := r.End(j.Output, as, exit, fault, at)
	if s.Ended != nil {
		s.Ended(j, r)
	}
	return err
}

// endWithoutRows records a run without a new row. Consecutive ones of one trigger share a record.
func (s *Scheduler) endWithoutRows(j *Job, run *pipeline.Scheduled, now time.Time) (*pipeline.RunState, error) {
	run.Why = "there is no new row since the run before"
	s.tell(false, j.Name+": "+run.Why)
	r, err := j.last(anyRun)
	if err != nil {
		return nil, err
	}
	if r == nil || r.State != pipeline.StateNothing || r.Scheduled.Sequence > 0 || r.Scheduled.Trigger != run.Trigger {
		run.Files, run.Window = nil, nil
		return s.endUntrained(j, run, pipeline.StateNothing, nil, now)
	}
	r.Scheduled.Missed += 1 + run.Missed
	r.Scheduled.Moment, r.Scheduled.Due, r.Scheduled.Gone = run.Moment, run.Due, run.Gone
	return r, s.end(j, r, pipeline.StateNothing, nil, "", now)
}

// choose chooses the files of a run, or its window, and notes them in its record.
func (s *Scheduler) choose(ctx context.Context, j *Job, state *State, at pipeline.Sequence, run *pipeline.Scheduled) (lot, error) {
	if j.Topic != nil {
		w, err := pipeline.TopicWindow{}, error(nil)
		if at.Topic.Window != nil { // still without a certificate
			w = *at.Topic.Window
		} else if w, err = j.Topic.Next(ctx, at.Topic, 0); err != nil {
			return lot{}, err
		}
		run.Window = &w
		of := j.lotOf(run)
		of.rows, of.none = j.Topic.Rows(w), w.Offsets() == 0
		return of, nil
	}
	all, err := j.Lake.Files(ctx)
	if err != nil {
		return lot{}, err
	}
	var files []File
	chosen := len(run.Files) == 0
	if !chosen {
		files, err = sameFiles(all, run.Files)
	} else {
		var before []pipeline.ManifestFile
		if before, err = j.order(ctx, at); err == nil {
			files, err = j.filesAt(ctx, all, before, state, run.Moment)
			run.Gone = j.removed(all, before, run.Moment)
		}
	}
	if err != nil {
		return lot{}, err
	}
	if text := run.Missing(); text != "" {
		s.tell(true, j.Name+": "+text+" (hint: restore them, unless they were removed on purpose)")
	}
	run.Files = manifestFiles(files)
	of := j.lotOf(run)
	of.rows, of.none = j.Lake.Rows(files), len(files) == 0 || state.Done == of.digest
	if !of.none {
		if err := j.keepsFeatures(ctx, of.rows); err != nil {
			if chosen { // a retry chooses anew: the files are to be mended
				run.Files = nil
			}
			return lot{}, err
		}
	}
	return of, nil
}

// lotOf identifies the rows of a run.
func (j *Job) lotOf(of *pipeline.Scheduled) lot {
	digest := ""
	if of.Window != nil {
		digest = j.Topic.Digest(*of.Window)
	} else {
		digest = hexOf(of.Files)
	}
	return lot{digest: digest, number: hexOf(digest, j.Software)}
}

// train trains a run that began at now, and records its end. The record may have a later begin,
// if a clock was put back.
func (s *Scheduler) train(ctx context.Context, j *Job, state *State, r *pipeline.RunState, of lot, now time.Time) error {
	how := j.How
	how.Run, how.Begun, how.Certified, how.LeavePointer, how.Judge = r.Run, r, of.certified, true, j.Judge
	train := s.Train
	if train == nil {
		train = func(ctx context.Context, j *Job, job pipeline.Job, rows pipeline.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			return pipeline.Train(ctx, job, rows, j.Output, how)
		}
	}
	began := time.Now()
	o, err := train(ctx, j, of.job, of.rows, how)
	ended := now.Add(time.Since(began))
	if ctx.Err() != nil && r.State == pipeline.StateFinished { // recoverOpen decides its promotion
		return ctx.Err()
	}
	if ctx.Err() != nil {
		err := s.end(j, r, pipeline.StateInterrupted, nil, "the scheduler was stopped", ended)
		return errors.Join(ctx.Err(), err, s.closeRun(j, state, r, sameTry(r.Scheduled, ended)))
	}
	if err != nil && o != nil && r.State == pipeline.StateFinished { // old files could not be removed
		s.tell(true, fmt.Sprintf("%s: %v", j.Name, err))
		err = nil
	}
	if err != nil && !errors.Is(err, pipeline.ErrHeld) {
		o, err = s.publishedBefore(ctx, j, of.certified, o, err)
	}
	if err != nil {
		return s.endFailed(j, state, r, err, ended)
	}
	r.Artifacts = []pipeline.ArtifactRef{{ID: o.Result.ID, Model: o.Result.ModelDigest}}
	r.Exit, r.Fault = new(int), ""
	if verdict := how.Verdict(o.Result.Certificate); verdict != nil {
		*r.Exit, r.Fault = pipeline.ExitStatus(verdict), verdict.Error()
	}
	r.State, r.Scheduled.Kills = pipeline.StateFinished, 0
	return s.endFinished(ctx, j, state, r, ended)
}

// endFailed records a run without a certificate.
func (s *Scheduler) endFailed(j *Job, state *State, r *pipeline.RunState, fault error, ended time.Time) error {
	exit := pipeline.ExitStatus(fault)
	end := func() error {
		return s.end(j, r, pipeline.StateFailed, &exit, pipeline.Shortened(fault.Error()), ended)
	}
	var err error
	switch {
	case errors.Is(fault, pipeline.ErrHeld): // another process has the window: recoverOpen must not see a failure
		if err = s.closeRun(j, state, r, sameTry(r.Scheduled, ended.Add(j.Backoff))); err == nil {
			err = end()
		}
	case errors.Is(fault, pipeline.ErrNoRows):
		r.Scheduled.Why = "its offsets are transaction markers or aborted records: there is no row"
		err = s.end(j, r, pipeline.StateNothing, nil, "", ended)
		err = errors.Join(err, s.closeRun(j, state, r, nil))
	default:
		err = end()
		err = errors.Join(err, s.closeRun(j, state, r, nextTry(j, r, ended)))
	}
	s.tell(r.Exit != nil, Words(r))
	return err
}

// endFinished decides whether a run's certificate becomes current, and records the end.
func (s *Scheduler) endFinished(ctx context.Context, j *Job, state *State, r *pipeline.RunState, ended time.Time) error {
	if of := r.Scheduled; *r.Exit == 0 && of.Why == "" {
		d, fault := j.challenge(ctx, Certificate(r), ended)
		if fault != nil && ctx.Err() != nil {
			return ctx.Err() // recoverOpen decides it
		}
		of.Current, of.Why = d.Moves, d.Why
		if fault != nil {
			why := pipeline.Shortened(fault.Error())
			if !strings.Contains(why, "hint: ") {
				why += " (hint: mend that, then pacsgp promote makes it current)"
			}
			*r.Exit, of.Why = pipeline.ExitFailure, "its promotion could not be decided: "+why
		}
	}
	err := s.end(j, r, pipeline.StateFinished, r.Exit, r.Fault, ended)
	s.tell(*r.Exit != 0, Words(r))
	return errors.Join(err, s.closeRun(j, state, r, nil))
}

// publishedBefore is the outcome of a failed run if an earlier try has published a certificate
// with its number: a number has only one.
func (s *Scheduler) publishedBefore(ctx context.Context, j *Job, id string, o *pipeline.Outcome, fault error) (*pipeline.Outcome, error) {
	if id == "" || j.Elsewhere { // the output does not show what was published elsewhere
		return o, fault
	}
	c, err := j.contender(ctx, id)
	if err == nil {
		err = j.verify(ctx, c)
	}
	if err != nil { // it is not of a run
		return o, errors.Join(fault, fmt.Errorf("certificate %s of an earlier try: %w", id, err))
	}
	s.tell(false, fmt.Sprintf("certificate %.12s… of an earlier try remains, although this try failed: %v", id, fault))
	return &pipeline.Outcome{Result: &pipeline.Result{Certificate: c, ID: id, ModelDigest: c.Model.Digest}}, nil
}

// closeRun records what follows from the end of a run, and that no run is open.
func (s *Scheduler) closeRun(j *Job, state *State, r *pipeline.RunState, retry *Retry) error {
	of, rows := r.Scheduled, j.lotOf(r.Scheduled)
	state.Open, state.Retry = "", retry
	if r.State == pipeline.StateFailed {
		state.Done = ""
	}
	if r.State == pipeline.StateFinished {
		state.Done = rows.digest
		state.use(of.Files)
	}
	at, err := j.sequence()
	if err != nil {
		return err
	}
	// A certified number is used up: the same files get another one.
	usedUp := r.State == pipeline.StateFinished
	if w := of.Window; w != nil && retry == nil {
		usedUp = true
		if at.Topic != nil && at.Topic.Window != nil && j.Topic.Digest(*at.Topic.Window) == rows.digest {
			at.Topic = at.Topic.Without()
			if err := j.Topic.Discard(*w); err != nil {
				s.tell(false, fmt.Sprintf("%s: the spool of its last window stays: %v", j.Name, err))
			}
		}
	}
	if usedUp {
		if at.Numbers[rows.number] == of.Sequence { // else of a later run
			at.Numbers = maps.Clone(at.Numbers)
			delete(at.Numbers, rows.number)
		}
		if err := j.Output.PutSequence(j.Name, at); err != nil {
			return err
		}
	}
	return s.put(j, state)
}

// backoff is the pause after a failure that follows some others: each is twice as long as the one
// before, at most a year.
func (j *Job) backoff(failures int) time.Duration {
	const most = 365 * 24 * time.Hour
	wait := min(j.Backoff, most)
	for range min(failures, 16) {
		wait = min(2*wait, most)
	}
	return wait
}

// nextTry is the retry of a failed run, or nil: a retry mends no fault of the job.
func nextTry(j *Job, r *pipeline.RunState, now time.Time) *Retry {
	of := r.Scheduled
	if of.Try > j.Retries || r.Exit == nil || *r.Exit != pipeline.ExitFailure {
		return nil
	}
	return &Retry{At: now.Add(j.backoff(of.Try - 1)), Tries: of.Try, Trigger: of.Trigger, Moment: of.Moment, Files: of.Files}
}

// sameTry repeats a try of a run that has not failed itself.
func sameTry(of *pipeline.Scheduled, at time.Time) *Retry {
	return &Retry{At: at, Tries: of.Try - 1, Kills: of.Kills, Trigger: of.Trigger, Moment: of.Moment, Files: of.Files}
}

// mostKills bounds how many times in a row a run is resumed after its scheduler was killed.
const mostKills = 5

// recoverOpen closes the run that a killed scheduler left open; its next try resumes from the
// checkpoint. A finished one is recorded as finished, and returned.
func (s *Scheduler) recoverOpen(ctx context.Context, j *Job, state *State, now time.Time) (*pipeline.RunState, error) {
	r, err := j.last(func(r *pipeline.RunState) bool { return r.Run == state.Open })
	switch {
	case err != nil:
		return nil, err
	case r == nil: // its record was never written, or is gone
		state.Open = ""
		return nil, s.put(j, state)
	case r.State == pipeline.StateFinished && r.Exit != nil:
		if r.Ended == nil { // a damaged record
			r.Ended = &now
		}
		return r, s.endFinished(ctx, j, state, r, *r.Ended)
	case r.State == pipeline.StateInterrupted:
		return nil, s.closeRun(j, state, r, sameTry(r.Scheduled, now))
	case r.State == pipeline.StateNothing || r.State == pipeline.StateFailed && r.Exit != nil:
		return nil, s.closeRun(j, state, r, nextTry(j, r, now))
	}
	if r.Scheduled.Kills++; r.Scheduled.Kills <= mostKills {
		if err := s.end(j, r, pipeline.StateFailed, nil, "the scheduler ended during the run", now); err != nil {
			return nil, err
		}
		return nil, s.closeRun(j, state, r, sameTry(r.Scheduled, now))
	}
	fault := fmt.Sprintf("the scheduler ended during the run %d times in a row (hint: does it have enough memory?)", r.Scheduled.Kills)
	r.Scheduled.Kills = 0
	exit := pipeline.ExitFailure
	if err := s.end(j, r, pipeline.StateFailed, &exit, fault, now); err != nil {
		return nil, err
	}
	return nil, s.closeRun(j, state, r, nextTry(j, r, now))
}
