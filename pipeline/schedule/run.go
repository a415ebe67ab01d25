package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A lot is the rows of a run: files, or a window.
type lot struct {
	rows      pipeline.Rows
	files     []File // or none
	digest    string
	number    string // key of its number in the sequence
	none      bool   // nothing new since the run before
	certified string // id of the certificate that its number already has
}

// begin chooses the files of a run, or its window, takes its number in the sequence, records
// the run, runs it, and records its end. A run without a record has not been: it is due still.
func (s *Scheduler) begin(ctx context.Context, j *Job, known *State, seen pipeline.Sequence, run *pipeline.Scheduled, now time.Time) (r *pipeline.RunState, err error) {
	at, err := j.sequence()
	if err == nil && at.Taken != seen.Taken {
		err = errTaken
	}
	if err != nil {
		return nil, err
	}
	known.Retry = nil
	of, err := s.choose(ctx, j, known, at, run)
	if err == nil && !of.none {
		err = s.number(ctx, j, &at, run, &of)
	}
	switch {
	case ctx.Err() != nil: // nothing was chosen, and it is due still
		return nil, ctx.Err()
	case err != nil:
		return s.unchosen(j, known, run, err, now)
	}
	known.Unchosen, known.NotBefore, known.Fault = 0, time.Time{}, ""
	if of.none {
		if r, err = s.nothing(j, run, now); err != nil {
			return nil, err
		}
		return r, s.put(j, known)
	}
	if err := s.test(ctx, j, known, run, of); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		s.tell(true, fmt.Sprintf("%s: new rows cannot test the current model: %v", j.Name, err))
	}
	if known.Open, err = j.name(run, now); err != nil {
		return nil, err
	}
	known.Retry = repeat(run, now) // if it dies before its record
	if err := s.put(j, known); err != nil {
		return nil, err
	}
	if err := s.replace(ctx, j, known, now); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		s.tell(true, fmt.Sprintf("%s: the model that is current stays for now: %v", j.Name, err))
	}
	if r, err = pipeline.BeginRun(j.Output, known.Open, j.Job, now, run); err != nil {
		return nil, err
	}
	return r, s.finish(ctx, j, known, r, of, now)
}

// unchosen records a run whose files, or window, could not be chosen. Rows, files and offsets
// are counted again later.
func (s *Scheduler) unchosen(j *Job, known *State, run *pipeline.Scheduled, fault error, now time.Time) (*pipeline.RunState, error) {
	files := run.Files
	run.Window, run.Files = nil, nil
	r, err := s.over(j, run, pipeline.StateFailed, fault, now)
	if err != nil {
		return nil, err
	}
	if known.Retry = again(j, r, now); known.Retry != nil {
		known.Retry.Files = files
	}
	known.NotBefore = now.Add(min(longestBackoff, j.backoff(known.Unchosen)))
	known.Unchosen, known.Fault = known.Unchosen+1, r.Fault
	s.tell(true, Words(r))
	return r, s.put(j, known)
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

// over records a run that ended before training.
func (s *Scheduler) over(j *Job, run *pipeline.Scheduled, as pipeline.State, fault error, now time.Time) (*pipeline.RunState, error) {
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

// end records the end of a run, whatever has ended it.
func (s *Scheduler) end(j *Job, r *pipeline.RunState, as pipeline.State, exit *int, fault string, at time.Time) error {
	err := r.End(j.Output, as, exit, fault, at)
	if s.Ended != nil {
		s.Ended(j, r)
	}
	return err
}

// nothing records a run without a new row. Consecutive ones of one trigger share a record.
func (s *Scheduler) nothing(j *Job, run *pipeline.Scheduled, now time.Time) (*pipeline.RunState, error) {
	run.Why = "there is no row that the run before had not"
	s.tell(false, j.Name+": "+run.Why)
	r, err := j.last(anyRun)
	if err != nil {
		return nil, err
	}
	if r == nil || r.State != pipeline.StateNothing || r.Scheduled.Sequence > 0 || r.Scheduled.Trigger != run.Trigger {
		run.Files, run.Window = nil, nil
		return s.over(j, run, pipeline.StateNothing, nil, now)
	}
	r.Scheduled.Missed += 1 + run.Missed
	r.Scheduled.Moment = run.Moment
	return r, s.end(j, r, pipeline.StateNothing, nil, "", now)
}

// choose chooses the files of a run, or its window, and notes them in its record.
func (s *Scheduler) choose(ctx context.Context, j *Job, known *State, at pipeline.Sequence, run *pipeline.Scheduled) (lot, error) {
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
	if len(run.Files) > 0 {
		files, err = same(all, run.Files)
	} else {
		var before []pipeline.ManifestFile
		if before, err = j.order(ctx, at); err == nil {
			files, err = j.chosen(ctx, all, before, known, run.Moment)
		}
	}
	if err != nil {
		return lot{}, err
	}
	run.Files = manifested(files)
	of := j.lotOf(run)
	of.rows, of.files, of.none = j.Lake.Rows(files), files, len(files) == 0 || known.Done == of.digest
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

// finish runs what is recorded as running. now is when it began; its record may say later, if a
// clock was put back.
func (s *Scheduler) finish(ctx context.Context, j *Job, known *State, r *pipeline.RunState, of lot, now time.Time) error {
	how := j.How
	how.Run, how.Begun, how.Certified, how.LeavePointer, how.Judge = r.Run, r, of.certified, true, j.Judge
	train := s.Train
	if train == nil {
		train = func(ctx context.Context, j *Job, job pipeline.Job, rows pipeline.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			return pipeline.Train(ctx, job, rows, j.Output, how)
		}
	}
	began := time.Now()
	o, err := train(ctx, j, j.Job.Numbered(j.Name, r.Scheduled.Sequence), of.rows, how)
	ended := now.Add(time.Since(began))
	if ctx.Err() != nil && r.State == pipeline.StateFinished { // recover decides its promotion
		return ctx.Err()
	}
	if ctx.Err() != nil {
		err := s.end(j, r, pipeline.StateInterrupted, nil, "the scheduler was stopped", ended)
		return errors.Join(ctx.Err(), err, s.settle(j, known, r, repeat(r.Scheduled, ended)))
	}
	if err != nil && !errors.Is(err, pipeline.ErrHeld) {
		o, err = s.publishedBefore(ctx, j, of.certified, o, err)
	}
	if err != nil {
		return s.failed(j, known, r, err, ended)
	}
	r.Artifacts = []pipeline.ArtifactRef{{ID: o.Result.ID, Model: o.Result.ModelDigest}}
	r.Exit, r.Fault = new(int), ""
	if verdict := how.Verdict(o.Result.Certificate); verdict != nil {
		*r.Exit, r.Fault = pipeline.ExitStatus(verdict), verdict.Error()
	}
	r.State, r.Scheduled.Kills = pipeline.StateFinished, 0
	return s.finished(ctx, j, known, r, ended)
}

// failed records a run without a certificate.
func (s *Scheduler) failed(j *Job, known *State, r *pipeline.RunState, fault error, ended time.Time) error {
	exit := pipeline.ExitStatus(fault)
	end := func() error {
		return s.end(j, r, pipeline.StateFailed, &exit, pipeline.Shortened(fault.Error()), ended)
	}
	var err error
	switch {
	case errors.Is(fault, pipeline.ErrHeld): // another process has the window: recover must not take it for a failure
		if err = s.settle(j, known, r, repeat(r.Scheduled, ended.Add(j.Backoff))); err == nil {
			err = end()
		}
	case errors.Is(fault, pipeline.ErrNoRows):
		r.Scheduled.Why = "its offsets are markers of transactions, records of aborted ones, or tombstones: there is no row"
		err = s.end(j, r, pipeline.StateNothing, nil, "", ended)
		err = errors.Join(err, s.settle(j, known, r, nil))
	default:
		err = end()
		err = errors.Join(err, s.settle(j, known, r, again(j, r, ended)))
	}
	s.tell(r.Exit != nil, Words(r))
	return err
}

// finished decides whether a run's certificate becomes current, and records it.
func (s *Scheduler) finished(ctx context.Context, j *Job, known *State, r *pipeline.RunState, ended time.Time) error {
	if of := r.Scheduled; *r.Exit == 0 && of.Why == "" {
		d, fault := j.challenge(ctx, Certificate(r), ended)
		if fault != nil && ctx.Err() != nil {
			return ctx.Err() // recover decides it
		}
		of.Current, of.Waits, of.Why = d.Moves, d.Waits, d.Why
		if fault != nil {
			*r.Exit, of.Why = pipeline.ExitFailure, fmt.Sprintf("whether it is to be current cannot be decided: %s (hint: when that is mended, pacsgp promote makes it current)", pipeline.Shortened(fault.Error()))
		}
	}
	err := s.end(j, r, pipeline.StateFinished, r.Exit, r.Fault, ended)
	s.tell(*r.Exit != 0, Words(r))
	return errors.Join(err, s.settle(j, known, r, nil))
}

// publishedBefore is the outcome of a failed run whose earlier try has published a certificate: a
// number has one.
func (s *Scheduler) publishedBefore(ctx context.Context, j *Job, id string, o *pipeline.Outcome, fault error) (*pipeline.Outcome, error) {
	if id == "" || j.Elsewhere { // the output does not show what was published elsewhere
		return o, fault
	}
	c, err := j.contender(ctx, id)
	if err == nil {
		err = j.verify(ctx, c)
	}
	if err != nil { // no run has published it
		return o, errors.Join(fault, fmt.Errorf("certificate %s of an earlier try: %w", id, err))
	}
	s.tell(false, fmt.Sprintf("certificate %.12s… of an earlier try remains, though this one failed: %v", id, fault))
	return &pipeline.Outcome{Result: &pipeline.Result{Certificate: c, ID: id, ModelDigest: c.Model.Digest}}, nil
}

// settle notes the consequences of a run's end, and closes it.
func (s *Scheduler) settle(j *Job, known *State, r *pipeline.RunState, retry *Retry) error {
	of, chosen := r.Scheduled, j.lotOf(r.Scheduled)
	known.Open, known.Retry = "", retry
	if r.State == pipeline.StateFailed {
		known.Done = ""
	}
	if r.State == pipeline.StateFinished {
		known.Done = chosen.digest
		known.note(of.Files)
		if of.Waits {
			known.Tests.Wait(Certificate(r))
		}
	}
	at, err := j.sequence()
	if err != nil {
		return err
	}
	// A certified number is closed: files that look the same get another one.
	over := r.State == pipeline.StateFinished
	if w := of.Window; w != nil && retry == nil {
		over = true
		if at.Topic != nil && at.Topic.Window != nil && j.Topic.Digest(*at.Topic.Window) == chosen.digest {
			at.Topic = at.Topic.Without()
			if err := j.Topic.Leave(*w); err != nil {
				s.tell(false, fmt.Sprintf("%s: the spool of its last window stays: %v", j.Name, err))
			}
		}
	}
	if over {
		if at.Numbers[chosen.number] == of.Sequence { // else of a later run
			at.Numbers = maps.Clone(at.Numbers)
			delete(at.Numbers, chosen.number)
		}
		if err := j.Output.PutSequence(j.Name, at); err != nil {
			return err
		}
	}
	return s.put(j, known)
}

// backoff is the pause after so many earlier failures: twice as long each time, at most a year.
func (j *Job) backoff(failures int) time.Duration {
	const most = 365 * 24 * time.Hour
	wait := min(j.Backoff, most)
	for range min(failures, 16) {
		wait = min(2*wait, most)
	}
	return wait
}

// again is the retry of a failed run, nil if there is none. It mends no fault of the job.
func again(j *Job, r *pipeline.RunState, now time.Time) *Retry {
	of := r.Scheduled
	if of.Try > j.Retries || r.Exit == nil || *r.Exit != pipeline.ExitFailure {
		return nil
	}
	return &Retry{At: now.Add(j.backoff(of.Try - 1)), Tries: of.Try, Trigger: of.Trigger, Moment: of.Moment, Files: of.Files}
}

// repeat is the same try once more: the run itself has not failed.
func repeat(of *pipeline.Scheduled, at time.Time) *Retry {
	return &Retry{At: at, Tries: of.Try - 1, Kills: of.Kills, Trigger: of.Trigger, Moment: of.Moment, Files: of.Files}
}

// mostKills is how many times in a row a run is resumed whose scheduler died during it.
const mostKills = 5

// recover deals with a run whose scheduler ended during it: the run is resumed from its
// checkpoint. A finished one is recorded as finished, and returned.
func (s *Scheduler) recover(ctx context.Context, j *Job, known *State, now time.Time) (*pipeline.RunState, error) {
	r, err := j.last(func(r *pipeline.RunState) bool { return r.Run == known.Open })
	switch {
	case err != nil:
		return nil, err
	case r == nil: // its record was never written, or is gone
		known.Open = ""
		return nil, s.put(j, known)
	case r.State == pipeline.StateFinished && r.Exit != nil:
		return r, s.finished(ctx, j, known, r, *r.Ended)
	case r.State == pipeline.StateInterrupted:
		return nil, s.settle(j, known, r, repeat(r.Scheduled, now))
	case r.State == pipeline.StateNothing || r.State == pipeline.StateFailed && r.Exit != nil:
		return nil, s.settle(j, known, r, again(j, r, now))
	}
	if r.Scheduled.Kills++; r.Scheduled.Kills <= mostKills {
		if err := s.end(j, r, pipeline.StateFailed, nil, "the scheduler has ended before it", now); err != nil {
			return nil, err
		}
		return nil, s.settle(j, known, r, repeat(r.Scheduled, now))
	}
	fault := fmt.Sprintf("the scheduler has ended before it %d times in a row (hint: does it have memory enough?)", r.Scheduled.Kills)
	r.Scheduled.Kills = 0
	exit := pipeline.ExitFailure
	if err := s.end(j, r, pipeline.StateFailed, &exit, fault, now); err != nil {
		return nil, err
	}
	return nil, s.settle(j, known, r, again(j, r, now))
}
