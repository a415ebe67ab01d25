package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A batch describes the rows of a run: files, or a window.
type batch struct {
	rows      dataset.Rows
	digest    string
	number    string // digest of rows and program; another one needs another number in the sequence
	none      bool   // whether there is no new row since the run before
	certified string // id of the certificate that already has the run's number, or ""
}

// begin chooses the files or the window of a run, reserves its number, records its beginning, trains, and records its
// end. Each step is one durable write. A run that is killed before its first record is still due.
func (s *Scheduler) begin(ctx context.Context, j *Job, state *jobState, run *pipeline.Scheduled, now time.Time) (*pipeline.RunState, error) {
	run.Due = j.due(state, now)
	last, err := j.last(nil)
	if err != nil {
		return nil, err
	}
	run.Job, run.Number = j.Name, 1
	if state.Run != nil {
		run.Number = state.Run.Number + 1
	}
	if last != nil {
		run.Number = max(run.Number, last.Scheduled.Number+1)
	}
	rows, err := s.choose(ctx, j, state, run, now)
	if err == nil && !rows.none {
		err = s.reserve(ctx, j, state, run, &rows)
	}
	switch {
	case ctx.Err() != nil: // the run is still due
		return nil, ctx.Err()
	case err != nil:
		r, err := s.endUntrained(j, run, pipeline.StateFailed, err, now)
		return r, errors.Join(err, j.put(state))
	case rows.none:
		r, err := s.endWithoutRows(j, last, run, now)
		return r, errors.Join(err, j.put(state))
	}
	r, err := pipeline.BeginRun(j.Output, j.name(run, now), j.Job, now, run)
	if err != nil {
		return nil, err
	}
	return r, s.train(ctx, j, r, rows, now)
}

// name returns the name of the record of a run.
func (j *Job) name(run *pipeline.Scheduled, now time.Time) string {
	return digest.OfValues(j.Name, run.Number, now)[:12]
}

// endUntrained records a run that ends before training.
func (s *Scheduler) endUntrained(j *Job, run *pipeline.Scheduled, as pipeline.State, fault error, now time.Time) (*pipeline.RunState, error) {
	run.Window = nil
	if run.Files == nil {
		run.Files = []dataset.ManifestFile{}
	}
	r, err := pipeline.NewRun(j.Output, j.name(run, now), j.Job, now, run)
	if err != nil {
		return nil, err
	}
	if r.State = as; fault != nil {
		r.Exit, r.Fault = new(pipeline.ExitStatus(fault)), job.Shortened(fault.Error())
	}
	return r, s.end(j, r, now)
}

// end records the end of a run, whose state is set.
func (s *Scheduler) end(j *Job, r *pipeline.RunState, at time.Time) error {
	j.dated(r, at)
	if err := r.End(j.Output, r.State, r.Exit, r.Fault, at); err != nil {
		return err // by its record the run has not ended
	}
	s.ended(j, r)
	return nil
}

// dated sets, in the record of a run that has ended, its end and when its next try is due.
func (j *Job) dated(r *pipeline.RunState, at time.Time) {
	at = at.UTC()
	r.Ended = &at
	switch next := j.again(r); {
	case next == nil:
	case next.Try > r.Scheduled.Try:
		r.Scheduled.Due = new(at.Add(j.backoff(r.Scheduled.Try - 1)))
	case r.Exit != nil: // another process has its window
		r.Scheduled.Due = new(at.Add(j.Backoff))
	default:
		r.Scheduled.Due = &at
	}
}

// ended reports the end of a run.
func (s *Scheduler) ended(j *Job, r *pipeline.RunState) {
	if s.Ended != nil {
		s.Ended(j, r)
	}
	if r.Exit != nil && *r.Exit != 0 {
		s.Observer.ReportWarning(Words(r))
	} else {
		s.Observer.ReportEvent(Words(r))
	}
}

// endWithoutRows records a run without new rows. Consecutive ones of the same trigger share a record.
func (s *Scheduler) endWithoutRows(j *Job, last *pipeline.RunState, run *pipeline.Scheduled, now time.Time) (*pipeline.RunState, error) {
	run.Why = "there is no new row since the run before" + words.If(j.Files.Which == FilesLast, ", or all are older than files: {last} allows")
	if last == nil || last.State != pipeline.StateNothing || last.Scheduled.Sequence > 0 || last.Scheduled.Trigger != run.Trigger {
		run.Files = nil
		return s.endUntrained(j, run, pipeline.StateNothing, nil, now)
	}
	last.Scheduled.Moment, last.Scheduled.Due, last.Scheduled.Replaced, last.Scheduled.Future = run.Moment, run.Due, run.Replaced, run.Future
	return last, s.end(j, last, now)
}

// choose chooses the files or the window of a run, and sets them in its record.
func (s *Scheduler) choose(ctx context.Context, j *Job, state *jobState, run *pipeline.Scheduled, now time.Time) (batch, error) {
	if j.Topic != nil {
		w, err := pipeline.TopicWindow{}, error(nil)
		if state.Topic.Window != nil { // still without a certificate
			w = *state.Topic.Window
		} else if w, err = j.Topic.Next(ctx, state.Topic, 0); err != nil {
			return batch{}, err
		}
		run.Window = &w
		of := j.batchOf(run)
		of.rows, of.none = j.Topic.Rows(w), w.Offsets() == 0
		return of, nil
	}
	all, err := j.Lake.Files(ctx)
	if err != nil {
		return batch{}, err
	}
	var files []File
	chosen := len(run.Files) == 0
	if !chosen {
		files, err = sameFiles(all, run.Files)
	} else {
		files, err = j.filesAt(all, state, run.Moment)
		run.Replaced = replaced(files, state.files())
	}
	if err != nil {
		return batch{}, err
	}
	if text := run.Rewritten(); text != "" {
		s.Observer.ReportEvent(j.Name + ": " + text)
	}
	run.Future = postdated(all, now)
	if text := run.Postdated(); text != "" {
		s.Observer.ReportWarning(j.Name + ": " + text + " (hint: set the clock that wrote them, and touch them)")
	}
	run.Files = manifestFiles(files)
	of := j.batchOf(run)
	of.rows, of.none = j.Lake.Rows(files), len(files) == 0 || state.done == of.digest
	if !of.none {
		if err := j.keepsFeatures(ctx, of.rows); err != nil {
			if chosen { // a retry chooses again, because the files are to be corrected
				run.Files = nil
			}
			return batch{}, err
		}
	}
	return of, nil
}

// batchOf returns the batch of a run with its digests only.
func (j *Job) batchOf(run *pipeline.Scheduled) batch {
	b := batch{digest: digest.OfValues(run.Files)}
	if run.Window != nil {
		b.digest = j.Topic.Digest(*run.Window)
	}
	b.number = digest.OfValues(b.digest, j.Software)
	return b
}

// train trains a run that began at now. Its end is recorded once, by the training or by this function. The beginning in
// the record may be later than now if a clock was set back.
func (s *Scheduler) train(ctx context.Context, j *Job, r *pipeline.RunState, b batch, now time.Time) error {
	how, began := j.How, time.Now()
	conclude := func(o *pipeline.Outcome, fault error) {
		at := now.Add(time.Since(began))
		s.conclude(ctx, j, r, b, o, fault, at)
		j.dated(r, at)
	}
	how.Run, how.Begun, how.Certified = r.Run, r, b.certified
	how.Conclude = func(_ context.Context, _ *pipeline.RunState, o *pipeline.Outcome, fault error) { conclude(o, fault) }
	train := s.Train
	if train == nil {
		train = func(ctx context.Context, j *Job, job job.Job, rows dataset.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
			return pipeline.Train(ctx, job, rows, j.Output, how)
		}
	}
	o, fault := train(ctx, j, j.Job.Numbered(j.Name, r.Scheduled.Sequence), b.rows, how)
	var err error
	switch {
	case r.Ended == nil:
		conclude(o, fault)
		err = j.Output.PutRun(r)
	case fault != nil && r.State == pipeline.StateFinished: // old files could not be removed
		s.Observer.ReportWarning(fmt.Sprintf("%s: %v", j.Name, fault))
	}
	s.ended(j, r)
	if err == nil && j.closes(r) {
		s.discard(j, r)
	}
	if r.State == pipeline.StateInterrupted {
		err = errors.Join(ctx.Err(), err)
	}
	return err
}

// conclude completes the record of a run that has ended, before the record is written. It moves the pointer if the
// run's certificate becomes current.
func (s *Scheduler) conclude(ctx context.Context, j *Job, r *pipeline.RunState, b batch, o *pipeline.Outcome, fault error, at time.Time) {
	held := errors.Is(fault, pipeline.ErrHeld) // another process has the window: nothing has failed
	if o == nil && ctx.Err() == nil && !held {
		o, fault = s.publishedBefore(ctx, j, b.certified, fault)
	}
	if o != nil {
		s.promote(context.WithoutCancel(ctx), j, r, o.Result, at)
		return
	}
	r.State, r.Exit, r.Fault = pipeline.StateFailed, new(pipeline.ExitStatus(fault)), job.Shortened(fault.Error())
	switch {
	case ctx.Err() != nil:
		r.State, r.Exit, r.Fault = pipeline.StateInterrupted, nil, "the scheduler was stopped"
	case held:
		r.State = pipeline.StateInterrupted
	case errors.Is(fault, dataset.ErrNoRows):
		r.State, r.Exit, r.Fault = pipeline.StateNothing, nil, ""
		r.Scheduled.Why = "its offsets are transaction markers or aborted records: there is no row"
	}
}

// promote completes the record of a run that has a certificate, and moves the pointer if the job's rule says so.
func (s *Scheduler) promote(ctx context.Context, j *Job, r *pipeline.RunState, result *pipeline.Result, at time.Time) {
	r.State, r.Exit, r.Fault, r.Scheduled.Kills = pipeline.StateFinished, new(int), "", 0
	r.Artifacts = []pipeline.ArtifactRef{result.ArtifactRef}
	if verdict := j.How.Verdict(result.Certificate); verdict != nil {
		*r.Exit, r.Fault = pipeline.ExitStatus(verdict), verdict.Error()
		return
	}
	d, fault := j.challenge(ctx, result.ID, at)
	r.Scheduled.Current, r.Scheduled.Kept, r.Scheduled.Why = d.Moves && fault == nil, d.Kept, d.Why
	if fault != nil {
		why := job.Shortened(fault.Error())
		if !strings.Contains(why, "hint: ") {
			why += fmt.Sprintf(" (hint: mend that, then pacsgp promote %.12s makes it current)", result.ID)
		}
		*r.Exit, r.Scheduled.Why = pipeline.ExitFailure, "current.json could not be moved: "+why
	}
}

// publishedBefore returns the outcome of a failed run whose earlier try has published the certificate id with its
// number. It is the run's outcome, because a number has only one certificate.
func (s *Scheduler) publishedBefore(ctx context.Context, j *Job, id string, fault error) (*pipeline.Outcome, error) {
	if id == "" || j.Elsewhere { // the output does not show what was published elsewhere
		return nil, fault
	}
	var m pass.Model
	c, err := j.candidate(ctx, id)
	if err == nil {
		m, err = j.Output.GetModel(ctx, c.Model.Digest)
	}
	if err == nil {
		_, err = pipeline.Verify(ctx, c, m, c.Model.Digest, nil, j.How.Resources.WithDefaults())
	}
	if err != nil { // the certificate is not from a run
		return nil, errors.Join(fault, fmt.Errorf("certificate %s of an earlier try: %w", id, err))
	}
	s.Observer.ReportEvent(fmt.Sprintf("certificate %.12s… of an earlier try remains, although this try failed: %v", id, fault))
	return &pipeline.Outcome{Result: &pipeline.Result{ArtifactRef: pipeline.ArtifactRef{ID: id, Model: c.Model.Digest}, Certificate: c}}, nil
}

// backoff returns the pause after a failure that follows the given number of others. Each is twice as long as the one
// before, and at most a year.
func (j *Job) backoff(failures int) time.Duration {
	const most = 365 * 24 * time.Hour
	wait := min(j.Backoff, most)
	for range min(failures, mostDoublings) {
		wait = min(2*wait, most)
	}
	return wait
}

// mostKills is the largest number of times in a row that a run is resumed after it has ended without a record.
const mostKills = 5

// endKilled records the end of a run that has ended without a record: its scheduler was killed, or its disk was full.
func (s *Scheduler) endKilled(j *Job, r *pipeline.RunState, now time.Time) error {
	r.State, r.Fault = pipeline.StateFailed, "ended without a record: killed, or its disk was full"
	if r.Scheduled.Kills++; r.Scheduled.Kills > mostKills {
		r.Fault = fmt.Sprintf("ended %d times in a row without a record: killed, or its disk was full (hint: does it have enough memory and disk?)", r.Scheduled.Kills)
		r.Exit, r.Scheduled.Kills = new(pipeline.ExitFailure), 0
	}
	return s.end(j, r, now)
}
