package schedule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A Scheduler decides when which job is run, from what was noted and from the time that it is
// told. It has no clock and starts no goroutine. Record and Poll have to be given.
type Scheduler struct {
	Record Record
	Poll   time.Duration // how often is looked whether anything is due

	// Train runs a job that has its rows and its number, as [pipeline.Train] does; nil: it is
	// that.
	Train func(ctx context.Context, j *Job, job pipeline.Job, rows pipeline.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error)
	// Say is told what was done, Warn what has failed. nil: nobody is, and Say is.
	Say, Warn func(text string)
	Looked    func(began time.Time)       // is told when all jobs were looked at; nil: nobody is
	Lagged    func(j *Job, offsets int64) // is told how many offsets of its topic a job has in no window yet; nil: nobody is

	said   string // the last of what is not to be said at every look
	unseen error  // why it was not seen whether the job that was looked at last is due
	closed bool   // the last look has recorded the end of a run of an earlier scheduler, and not looked what is due
}

// errTaken says that another scheduler was faster.
var errTaken = errors.New("another scheduler has taken a number of its sequence at this moment; it is looked again")

// complete reports what a job lacks, before it takes a number.
func (j *Job) complete() error {
	var faults []error
	for _, c := range []struct {
		lacks bool
		what  string
	}{
		{j.Name == "", "Name is not set"},
		{j.Output == nil, "Output is not set"},
		{(j.Lake == nil) == (j.Topic == nil), "one of Lake and Topic is to be set"},
		{j.Software == "", "Software is not set"},
		{j.Job.DeltaPolicy == "", "Job.DeltaPolicy is not set: its certificates share delta by their numbers"},
	} {
		if c.lacks {
			faults = append(faults, fmt.Errorf("%w: schedule: job %q: %s", pipeline.ErrConfig, j.Name, c.what))
		}
	}
	return errors.Join(faults...)
}

// sequence is what the output knows of a job's sequence. It refuses another job.
func (j *Job) sequence() (pipeline.Sequence, error) {
	if err := j.complete(); err != nil {
		return pipeline.Sequence{}, err
	}
	at, err := j.Output.Sequence(j.Name)
	if err != nil {
		return at, err
	}
	identity, err := j.Job.Identity()
	if err == nil && at.Identity != "" && at.Identity != identity.String() {
		err = fmt.Errorf("%w: jobs: %s is another job than its first run had, with which it shares delta: give the new one another name and output", pipeline.ErrConfig, j.Name)
	}
	return at, err
}

// Look does what is due for a job by now, and returns the record of the run that there was, if
// there was one. The error is one of the scheduler's record, without which nothing can be
// decided, or of a job that was changed or is not complete; what becomes of a run stands in the run's record, and
// what is wrong with the job's output is said.
func (s *Scheduler) Look(ctx context.Context, j *Job, now time.Time) (*pipeline.RunState, error) {
	s.closed, j.Judge = false, cmp.Or(j.Judge, pipeline.JudgeMean)
	r, err := s.look(ctx, j, now)
	var of recordError
	switch {
	case err == nil || errors.Is(err, pipeline.ErrConfig) || errors.As(err, &of):
		return r, err
	case ctx.Err() != nil:
		return r, ctx.Err()
	default: // it is due still
		s.notSeen(fmt.Errorf("%s: %w", j.Name, err))
		return r, nil
	}
}

// A recordError is one of the scheduler's record.
type recordError struct{ error }

// Unwrap is the error.
func (e recordError) Unwrap() error { return e.error }

// known is what the record knows of a job.
func (s *Scheduler) known(j *Job) (*State, error) {
	known, err := s.Record.Job(j.Name)
	if err != nil {
		return nil, recordError{err}
	}
	if known.Last == nil {
		known.Last = map[string]time.Time{}
	}
	return known, nil
}

// put replaces it.
func (s *Scheduler) put(j *Job, known *State) error {
	if err := s.Record.PutJob(j.Name, known); err != nil {
		return recordError{err}
	}
	return nil
}

func (s *Scheduler) look(ctx context.Context, j *Job, now time.Time) (*pipeline.RunState, error) {
	known, err := s.known(j)
	if err != nil {
		return nil, err
	}
	at, err := j.sequence()
	switch {
	case errors.Is(err, pipeline.ErrConfig) || ctx.Err() != nil:
		return nil, errors.Join(err, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("which numbers of its sequence are taken cannot be told: %w", err)
	}
	if known.Open != "" {
		if r, err := s.recover(ctx, j, known, now); r != nil || err != nil {
			s.closed = err == nil
			return r, err
		}
		if at, err = j.sequence(); err != nil {
			return nil, err
		}
	}
	if known.Waiting != "" {
		if err := s.wait(ctx, j, known, now); err != nil {
			return nil, err
		}
	}
	if j.Topic != nil && at.Topic == nil {
		if at.Topic, err = s.firstSeen(ctx, j); at.Topic == nil || err != nil {
			return nil, err
		}
	}
	if r := known.Retry; r != nil {
		if longest := j.backoff(r.Tries-1) + farAhead; now.Before(r.At) && r.At.Before(now.Add(longest)) {
			return nil, nil
		}
		return s.begin(ctx, j, known, at, &pipeline.Scheduled{Trigger: r.Trigger, Moment: r.Moment, Try: r.Tries + 1, Kills: r.Kills}, now)
	}
	if at.Topic != nil && at.Topic.Window != nil { // of a scheduler with another record
		if s.backsOff(j, known, now) {
			return nil, nil
		}
		return s.begin(ctx, j, known, at, &pipeline.Scheduled{Trigger: "unfinished window", Moment: now, Try: 1}, now)
	}
	run, skipped, err := s.due(ctx, j, known, at, now)
	switch {
	case err != nil || run == nil:
		return nil, err
	case skipped:
		return s.skip(j, known, run, now)
	default:
		return s.begin(ctx, j, known, at, run, now)
	}
}

// due returns the run that the triggers ask for, nil if none does, and whether it is one that
// was missed and is not made up for. All moments up to now are dealt with then, of every
// trigger: runs do not overlap and do not queue.
func (s *Scheduler) due(ctx context.Context, j *Job, known *State, at pipeline.Sequence, now time.Time) (found *pipeline.Scheduled, skipped bool, err error) {
	begun := false
	jitter := jitterOf(j.Name, j.Jitter)
	for _, t := range j.Triggers {
		if t.Moments == nil {
			continue
		}
		last, seen := known.Last[t.Key]
		if !seen || last.After(now.Add(farAhead)) { // new; or the clock was far ahead
			known.Last[t.Key], begun = now, true
			continue
		}
		moment, n := dueSince(t.Moments, last, now, jitter)
		if n == 0 {
			continue
		}
		known.Last[t.Key] = moment
		late := now.Sub(moment.Add(jitter(moment))) > 2*s.Poll
		run, skip := &pipeline.Scheduled{Trigger: t.Key, Moment: moment, Missed: n - 1, Try: 1}, late && j.Skip
		if skip {
			run.Missed = n
		}
		if found == nil || skipped && !skip {
			found, skipped = run, skip
		}
	}
	if found != nil && !skipped {
		return found, false, nil
	}
	run, err := s.dueByData(ctx, j, known, at, now)
	if err != nil || run != nil {
		return run, false, err
	}
	if begun {
		err = s.put(j, known)
	}
	return found, skipped, err
}

// farAhead is how far the last moment, or a retry beyond its backoff, may lie ahead of the
// clock before the clock is taken to have been wrong then.
const farAhead = 48 * time.Hour

// longestBackoff is the longest time for which rows, files and offsets are not counted again.
const longestBackoff = time.Hour

// backsOff reports whether it is too early for another look behind one that has failed.
func (s *Scheduler) backsOff(j *Job, known *State, now time.Time) bool {
	if !now.Before(known.NotBefore) || !known.NotBefore.Before(now.Add(2*longestBackoff)) {
		return false
	}
	s.unseen = fmt.Errorf("%s: the last look has failed: %s; it is looked again at %s", j.Name, known.Fault, known.NotBefore.Format(time.RFC3339))
	return true
}

// dueByData asks the triggers that count rows, files and offsets. None looks at a value,
// so that how many rows there are, and when, is all that a moment depends on.
func (s *Scheduler) dueByData(ctx context.Context, j *Job, known *State, at pipeline.Sequence, now time.Time) (*pipeline.Scheduled, error) {
	if s.backsOff(j, known, now) {
		return nil, nil
	}
	if j.Topic != nil {
		return s.dueByLag(ctx, j, at, now)
	}
	if !slices.ContainsFunc(j.Triggers, func(t Trigger) bool { return t.Rows > 0 || t.Files > 0 }) {
		return nil, nil
	}
	all, err := j.Lake.Files(ctx)
	if err != nil {
		s.notSeen(fmt.Errorf("%s: the lake cannot be listed: %w", j.Name, err))
		return nil, ctx.Err()
	}
	before, err := j.order(ctx, at)
	if err != nil {
		return nil, err
	}
	fresh := newSince(all, before)
	if j.Files.Which == FilesNew { // those that the run before did not take may have been taken by earlier ones
		fresh = known.untaken(fresh)
	}
	var rows int64
	for _, f := range fresh {
		rows += f.Rows
	}
	for _, t := range j.Triggers {
		if t.Files > 0 && int64(len(fresh)) >= t.Files || t.Rows > 0 && rows >= t.Rows {
			return &pipeline.Scheduled{Trigger: t.Key, Moment: now, Try: 1}, nil
		}
	}
	return nil, nil
}

// skip records that moments have passed.
func (s *Scheduler) skip(j *Job, known *State, run *pipeline.Scheduled, now time.Time) (r *pipeline.RunState, err error) {
	release, err := j.Output.Hold()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if r, err = j.over(run, pipeline.StateSkipped, nil, now); err != nil {
		return nil, err
	}
	return r, s.put(j, known)
}

// name gives a run its number among those of the job, and the name of its record.
func (j *Job) name(run *pipeline.Scheduled, now time.Time) (string, error) {
	run.Job, run.Number = j.Name, 1
	if run.Files == nil {
		run.Files = []pipeline.ManifestFile{}
	}
	last, err := j.last(func(*pipeline.RunState) bool { return true })
	if last != nil {
		run.Number = last.Scheduled.Number + 1
	}
	return hexOf(j.Name, run.Number, now)[:12], err
}

// last is the newest run of the job of which something is so, nil if there is none.
func (j *Job) last(is func(*pipeline.RunState) bool) (*pipeline.RunState, error) {
	all, err := j.Output.Runs()
	if err != nil {
		return nil, err
	}
	for r := range all {
		if r.Scheduled != nil && r.Scheduled.Job == j.Name && is(r) {
			return r, nil
		}
	}
	return nil, nil
}

// order are the files of the last run that has chosen some, in its order. Without it a row
// that is in the next sample too would have another ordinal, and so another role: a number
// that has its certificate, and not the record of its run, is an error.
func (j *Job) order(ctx context.Context, at pipeline.Sequence) ([]pipeline.ManifestFile, error) {
	last, err := j.last(numbered)
	if err != nil {
		return nil, err
	}
	var files []pipeline.ManifestFile
	told := int64(0)
	if last != nil {
		files, told = last.Scheduled.Files, last.Scheduled.Sequence
	}
	if 0 < at.Taken && at.Taken <= told {
		return files, nil
	}
	certified, err := j.certified(ctx)
	if err != nil {
		return nil, err
	}
	begun := map[int64]bool{} // those of runs that were killed before their records, too
	for _, k := range at.Numbers {
		begun[k] = true
	}
	for k := max(at.Taken, certified); k > told; k-- {
		if k <= certified || !begun[k] {
			return nil, fmt.Errorf("the record of the run that has taken number %d of the sequence is not in the output, or cannot be read (hint: restore it from a copy, or give the job another name and output)", k)
		}
	}
	return files, nil
}

// numbered reports whether a run has taken a number.
func numbered(r *pipeline.RunState) bool { return r.Scheduled.Sequence > 0 }

// notSeen is told why it cannot be seen whether a job is due, which is not said at every look.
func (s *Scheduler) notSeen(err error) {
	s.unseen = err
	if text := err.Error(); text != s.said {
		s.tell(true, text)
		s.said = text
	}
}

// once says what is not to be said at every look.
func (s *Scheduler) once(text string) {
	if text != s.said {
		s.tell(false, text)
		s.said = text
	}
}

// tell says what was done, or what has failed.
func (s *Scheduler) tell(failed bool, text string) {
	switch {
	case failed && s.Warn != nil:
		s.Warn(text)
	case s.Say != nil:
		s.Say(text)
	}
}

// Words say in a line what became of a run of a schedule.
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
	case id != "" && of.Why != "":
		text += ", not current"
	}
	if of.Why != "" {
		text += ": " + of.Why
	}
	if r.Fault != "" {
		text += ": " + r.Fault
	}
	return text
}

// Certificate is the id of the certificate that a run has come to, or "".
func Certificate(r *pipeline.RunState) string {
	if len(r.Artifacts) == 0 {
		return ""
	}
	return r.Artifacts[0].ID
}

// hexOf is the SHA-256 of values, in hexadecimal.
func hexOf(values ...any) string {
	text, _ := json.Marshal(values) // texts, numbers and times
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
