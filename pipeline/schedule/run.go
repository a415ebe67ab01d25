package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A lot is what a run takes.
type lot struct {
	rows   pipeline.Rows
	digest string // names it
	number string // names what has one number in the sequence
	none   bool   // nothing that the run before had not
	stands string // id of the certificate that the number has already
}

// begin chooses the files of a run, or its window, takes its number in the sequence, records
// the run, runs it, and records how it ended. It holds the output all the while. Without a
// record there was no run: it is due still.
func (s *Scheduler) begin(ctx context.Context, j *Job, known *State, seen pipeline.Sequence, run *pipeline.Scheduled, now time.Time) (r *pipeline.RunState, err error) {
	release, err := j.Output.Hold()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	at, err := j.sequence()
	if err == nil && at.Taken != seen.Taken {
		err = errTaken
	}
	if err != nil {
		return nil, err
	}
	known.Retry = nil
	take, err := s.take(ctx, j, known, at, run)
	if err == nil && !take.none {
		err = s.number(ctx, j, &at, run, &take)
	}
	switch {
	case ctx.Err() != nil: // nothing was chosen, and it is due still
		return nil, ctx.Err()
	case err != nil:
		return s.unchosen(j, known, run, err, now)
	}
	known.Unchosen, known.NotBefore, known.Fault = 0, time.Time{}, ""
	if take.none {
		if r, err = s.nothing(j, run, now); err != nil {
			return nil, err
		}
		return r, s.put(j, known)
	}
	if known.Open, err = j.name(run, now); err != nil {
		return nil, err
	}
	known.Retry = &Retry{At: now, Tries: run.Try - 1, Kills: run.Kills, Trigger: run.Trigger, Moment: run.Moment} // should its record never come to be
	if err := s.put(j, known); err != nil {
		return nil, err
	}
	if r, err = pipeline.BeginRun(j.Output, known.Open, j.Job, now, run); err != nil {
		return nil, err
	}
	return r, s.finish(ctx, j, known, r, take, now)
}

// unchosen records a run for which no files, or no window, could be chosen. Rows, files and
// offsets are not counted again at once.
func (s *Scheduler) unchosen(j *Job, known *State, run *pipeline.Scheduled, fault error, now time.Time) (*pipeline.RunState, error) {
	run.Window, run.Files = nil, nil
	r, err := j.over(run, pipeline.StateFailed, fault, now)
	if err != nil {
		return nil, err
	}
	known.Retry = again(j, r, now)
	known.NotBefore = now.Add(min(longestBackoff, j.backoff(known.Unchosen)))
	known.Unchosen, known.Fault = known.Unchosen+1, r.Fault
	s.tell(true, Words(r))
	return r, s.put(j, known)
}

// over records a run that has ended before it has trained anything.
func (j *Job) over(run *pipeline.Scheduled, as pipeline.State, fault error, now time.Time) (*pipeline.RunState, error) {
	name, err := j.name(run, now)
	if err != nil {
		return nil, err
	}
	r, err := pipeline.BeginRun(j.Output, name, j.Job, now, run)
	if err != nil {
		return nil, err
	}
	text, exit := "", (*int)(nil)
	if fault != nil {
		status := pipeline.ExitStatus(fault)
		text, exit = pipeline.Shortened(fault.Error()), &status
	}
	return r, r.End(j.Output, as, exit, text, now)
}

// nothing records a run without a row. Several in a row of one trigger have one record.
func (s *Scheduler) nothing(j *Job, run *pipeline.Scheduled, now time.Time) (*pipeline.RunState, error) {
	run.Why = "there is no row that the run before had not"
	s.tell(false, j.Name+": "+run.Why)
	r, err := j.last(func(*pipeline.RunState) bool { return true })
	if err != nil {
		return nil, err
	}
	if r == nil || r.State != pipeline.StateNothing || r.Scheduled.Sequence > 0 || r.Scheduled.Trigger != run.Trigger {
		run.Files, run.Window = nil, nil
		return j.over(run, pipeline.StateNothing, nil, now)
	}
	r.Scheduled.Missed += 1 + run.Missed
	r.Scheduled.Moment = run.Moment
	return r, r.End(j.Output, pipeline.StateNothing, nil, "", now)
}

// take chooses the files of a run, or its window, and notes them in its record.
func (s *Scheduler) take(ctx context.Context, j *Job, known *State, at pipeline.Sequence, run *pipeline.Scheduled) (lot, error) {
	if j.Topic != nil {
		w, err := pipeline.TopicWindow{}, error(nil)
		if at.Topic.Window != nil { // that is to have a certificate still
			w = *at.Topic.Window
		} else if w, err = j.Topic.Ahead(ctx, at.Topic, 0); err != nil {
			return lot{}, err
		}
		run.Window = &w
		return j.window(w), nil
	}
	all, err := j.Lake.Files(ctx)
	if err != nil {
		return lot{}, err
	}
	before, err := j.order(ctx, at)
	if err != nil {
		return lot{}, err
	}
	files, err := j.chosen(ctx, all, before, known, run.Moment)
	if err != nil {
		return lot{}, err
	}
	run.Files = manifested(files)
	of := j.files(run.Files)
	of.rows, of.none = j.Lake.Rows(files), len(files) == 0 || known.Done == of.digest
	return of, nil
}

// window is what a run of a window takes.
func (j *Job) window(w pipeline.TopicWindow) lot {
	digest := j.Topic.Digest(w)
	return lot{rows: j.Topic.Rows(w), digest: digest, number: hexOf(digest, j.Software), none: w.Offsets() == 0}
}

// files is what a run of these files takes, but for their rows.
func (j *Job) files(files []pipeline.ManifestFile) lot {
	digest := hexOf(files)
	return lot{digest: digest, number: hexOf(digest, j.Software)}
}

// lotOf is what a run has taken, but for the rows of files.
func (j *Job) lotOf(of *pipeline.Scheduled) lot {
	if of.Window != nil {
		return j.window(*of.Window)
	}
	return j.files(of.Files)
}

// number gives what a run takes its number in the sequence: before anything is known of a
// bound, and for one certificate.
func (s *Scheduler) number(ctx context.Context, j *Job, at *pipeline.Sequence, run *pipeline.Scheduled, take *lot) error {
	identity, err := j.Job.Identity()
	if err != nil {
		return err
	}
	if number, same := at.Numbers[take.number]; same { // of a run that was killed, or has failed
		all, err := j.Output.Numbered(ctx, j.Name)
		if err != nil {
			return err
		}
		run.Sequence, take.stands = number, all[number]
		return nil
	}
	last, err := j.newest(ctx, at.Taken)
	if err != nil {
		return err
	}
	at.Identity, at.Numbers = identity.String(), maps.Clone(at.Numbers)
	if at.Numbers == nil {
		at.Numbers = map[string]int64{}
	}
	at.Taken = last + 1
	at.Numbers[take.number] = at.Taken
	if run.Window != nil {
		at.Topic = at.Topic.With(*run.Window)
	}
	if err := j.Output.PutSequence(j.Name, *at); err != nil {
		return err // its record must not speak of a number that nobody knows
	}
	run.Sequence = at.Taken
	return nil
}

// newest is the largest number that was taken: by the list of numbers, which must know those
// of the newest run and of all certificates; where there is no list, by these.
func (j *Job) newest(ctx context.Context, listed int64) (int64, error) {
	last, err := j.last(numbered)
	if err != nil {
		return 0, err
	}
	found, err := j.certified(ctx)
	if err != nil {
		return 0, err
	}
	if last != nil {
		found = max(found, last.Scheduled.Sequence)
	}
	if listed > 0 && found > listed {
		return 0, fmt.Errorf("a run or a certificate of the output has number %d of sequence %q, and its list of numbers tells of %d: that is older (hint: restore the one that has them, or give the job another name and output)", found, j.Name, listed)
	}
	return max(found, listed), nil
}

// certified is the largest number that a certificate has.
func (j *Job) certified(ctx context.Context) (most int64, err error) {
	all, err := j.Output.Numbered(ctx, j.Name)
	for k := range all {
		most = max(most, k)
	}
	return most, err
}

// finish runs what is recorded as running. now is when it began, though its record may say
// later, if a clock was put back.
func (s *Scheduler) finish(ctx context.Context, j *Job, known *State, r *pipeline.RunState, take lot, now time.Time) error {
	how := j.How
	how.Run, how.Begun, how.Stands, how.LeavePointer, how.Judge = r.Run, r, take.stands, true, j.Judge
	train := s.Train
	if train == nil {
		train = func(ctx context.Context, j *Job, job pipeline.Job, rows pipeline.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			return pipeline.Train(ctx, job, rows, j.Output, how)
		}
	}
	began := time.Now()
	o, err := train(ctx, j, j.Job.Numbered(j.Name, r.Scheduled.Sequence), take.rows, how)
	ended := now.Add(time.Since(began))
	if ctx.Err() != nil && r.State == pipeline.StateFinished { // all but its promotion is recorded, which recover makes up for
		return ctx.Err()
	}
	if ctx.Err() != nil { // it was told to end
		err := r.End(j.Output, pipeline.StateInterrupted, nil, "the scheduler was stopped", ended)
		return errors.Join(ctx.Err(), err, s.settle(j, known, r, repeat(r, ended)))
	}
	if err != nil && !errors.Is(err, pipeline.ErrHeld) {
		o, err = s.standing(ctx, j, take.stands, o, err)
	}
	var retry *Retry
	switch {
	case err == nil:
		r.Artifacts = []pipeline.ArtifactRef{{ID: o.Result.ID, Model: o.Result.ModelDigest}}
		r.Exit, r.Fault = new(int), ""
		if verdict := how.Verdict(o.Result.Certificate); verdict != nil {
			*r.Exit, r.Fault = pipeline.ExitStatus(verdict), verdict.Error()
		}
		r.State, r.Scheduled.Kills = pipeline.StateFinished, 0
		return s.finished(ctx, j, known, r, ended)
	case errors.Is(err, pipeline.ErrNoRows):
		r.Scheduled.Why = "its offsets are markers of transactions, records of aborted ones, or tombstones: there is no row"
		err = r.End(j.Output, pipeline.StateNothing, nil, "", ended)
	default:
		exit, fault := pipeline.ExitStatus(err), pipeline.Shortened(err.Error())
		if errors.Is(err, pipeline.ErrHeld) { // by who works on the same window: recover must not take it for a failure
			err = s.settle(j, known, r, repeat(r, ended.Add(j.Backoff)))
			if err == nil {
				err = r.End(j.Output, pipeline.StateFailed, &exit, fault, ended)
			}
			s.tell(true, Words(r))
			return err
		}
		err = r.End(j.Output, pipeline.StateFailed, &exit, fault, ended)
		retry = again(j, r, ended)
	}
	s.tell(r.Exit != nil && *r.Exit != 0, Words(r))
	return errors.Join(err, s.settle(j, known, r, retry))
}

// finished decides whether what a run came to becomes current, and records it.
func (s *Scheduler) finished(ctx context.Context, j *Job, known *State, r *pipeline.RunState, ended time.Time) error {
	if of := r.Scheduled; *r.Exit == 0 && of.Why == "" {
		var fault error
		of.Current, of.Waits, of.Why, fault = j.challenge(ctx, Certificate(r), ended)
		if fault != nil && ctx.Err() != nil {
			return ctx.Err() // recover decides it
		}
		if fault != nil {
			*r.Exit, of.Why = pipeline.ExitFailure, fmt.Sprintf("whether it is to be current cannot be decided: %s (hint: when that is mended, pacsgp promote makes it current)", pipeline.Shortened(fault.Error()))
		}
	}
	err := r.End(j.Output, pipeline.StateFinished, r.Exit, r.Fault, ended)
	s.tell(*r.Exit != 0, Words(r))
	return errors.Join(err, s.settle(j, known, r, nil))
}

// standing is the outcome of a run that failed, if an earlier try of it has published its
// certificate: a number has one, and that is what the run came to.
func (s *Scheduler) standing(ctx context.Context, j *Job, id string, o *pipeline.Outcome, fault error) (*pipeline.Outcome, error) {
	if id == "" || j.Elsewhere { // what was published elsewhere is not known here
		return o, fault
	}
	c, err := j.contender(ctx, id)
	if err == nil {
		err = j.verify(ctx, c)
	}
	if err != nil { // it is not what a run has published
		return o, errors.Join(fault, fmt.Errorf("certificate %s of an earlier try: %w", id, err))
	}
	s.tell(false, fmt.Sprintf("certificate %.12s… of an earlier try stands, though this one failed: %v", id, fault))
	return &pipeline.Outcome{Result: &pipeline.Result{Certificate: c, ID: id, ModelDigest: c.Model.Digest}}, nil
}

// settle notes what follows from the end of a run, and that it is dealt with.
func (s *Scheduler) settle(j *Job, known *State, r *pipeline.RunState, retry *Retry) error {
	of, take := r.Scheduled, j.lotOf(r.Scheduled)
	known.Open, known.Retry = "", retry
	if r.State == pipeline.StateFailed {
		known.Done = ""
	}
	if r.State == pipeline.StateFinished {
		known.Done = take.digest
		known.take(of.Files)
		if of.Waits {
			known.Waiting = Certificate(r)
		}
	}
	at, err := j.sequence()
	if err != nil {
		return err
	}
	// What is certified has its number: files that look the same are another number's then.
	over := r.State == pipeline.StateFinished
	if w := of.Window; w != nil && retry == nil {
		over = true
		if at.Topic != nil && at.Topic.Window != nil && j.Topic.Digest(*at.Topic.Window) == take.digest {
			at.Topic = at.Topic.Without()
			if err := j.Topic.Leave(*w); err != nil {
				s.tell(false, fmt.Sprintf("%s: the spool of its last window stays: %v", j.Name, err))
			}
		}
	}
	if over {
		if at.Numbers[take.number] == of.Sequence { // else of a later run
			at.Numbers = maps.Clone(at.Numbers)
			delete(at.Numbers, take.number)
		}
		if err := j.Output.PutSequence(j.Name, at); err != nil {
			return err
		}
	}
	return s.put(j, known)
}

// backoff is how long is waited after so many failures before: twice as long each time, and a
// year at most.
func (j *Job) backoff(failures int) time.Duration {
	const most = 365 * 24 * time.Hour
	wait := min(j.Backoff, most)
	for range min(failures, 16) {
		wait = min(2*wait, most)
	}
	return wait
}

// again is when a run that failed is tried again, nil: it is not. Faults of the job are not
// mended by that.
func again(j *Job, r *pipeline.RunState, now time.Time) *Retry {
	of := r.Scheduled
	if of.Try > j.Retries || r.Exit == nil || *r.Exit != pipeline.ExitFailure {
		return nil
	}
	return &Retry{At: now.Add(j.backoff(of.Try - 1)), Tries: of.Try, Trigger: of.Trigger, Moment: of.Moment}
}

// repeat is the same try, made once more: what has ended it was no failure of the run.
func repeat(r *pipeline.RunState, at time.Time) *Retry {
	of := r.Scheduled
	return &Retry{At: at, Tries: of.Try - 1, Kills: of.Kills, Trigger: of.Trigger, Moment: of.Moment}
}

// mostKills is how often in a row a run is begun again whose scheduler has ended before it,
// which is no failure of the run.
const mostKills = 5

// recover deals with the run of a job that was at work when its scheduler ended: it is tried
// again, and goes on from its checkpoint. One that had finished is recorded as what it came to,
// and returned.
func (s *Scheduler) recover(ctx context.Context, j *Job, known *State, now time.Time) (r *pipeline.RunState, err error) {
	release, err := j.Output.Hold()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	r, err = j.last(func(r *pipeline.RunState) bool { return r.Run == known.Open })
	switch {
	case err != nil:
		return nil, err
	case r == nil: // it has never come to be, or has gone
		known.Open = ""
		return nil, s.put(j, known)
	case r.State == pipeline.StateFinished && r.Exit != nil:
		return r, s.finished(ctx, j, known, r, *r.Ended)
	case r.State == pipeline.StateInterrupted:
		return nil, s.settle(j, known, r, repeat(r, now))
	case r.State == pipeline.StateNothing || r.State == pipeline.StateFailed && r.Exit != nil:
		return nil, s.settle(j, known, r, again(j, r, now))
	}
	fault, exit := "the scheduler has ended before it", (*int)(nil)
	if r.Scheduled.Kills++; r.Scheduled.Kills > mostKills {
		fault, exit = fmt.Sprintf("the scheduler has ended before it %d times in a row (hint: does it have memory enough?)", r.Scheduled.Kills), new(int)
		*exit, r.Scheduled.Kills = pipeline.ExitFailure, 0
	}
	if err := r.End(j.Output, pipeline.StateFailed, exit, fault, now); err != nil {
		return nil, err
	}
	if exit != nil {
		return nil, s.settle(j, known, r, again(j, r, now))
	}
	return nil, s.settle(j, known, r, repeat(r, now))
}
