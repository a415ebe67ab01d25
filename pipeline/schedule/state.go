package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// StateFile is the name of the note of an output that holds the state of its job.
const StateFile = "schedule.json"

const stateFormat = "pacsgp-schedule/1"

// A jobState is the state of a job that its output stores next to the records of runs. It is written when a run
// reserves its number. What follows from the end of that run is computed from the run's record.
type jobState struct {
	Format   string               `json:"format"`
	Job      string               `json:"job"`                  // name
	Identity string               `json:"identity"`             // digest of the job
	Last     map[string]time.Time `json:"last"`                 // the last moment with a run, by the key of the trigger
	Run      *pipeline.Scheduled  `json:"run,omitempty"`        // the run that reserved the last number
	For      string               `json:"for,omitempty"`        // digest of the rows and the program of that number; "" once it is used up
	Used     []string             `json:"used_files,omitempty"` // files of finished runs, by contentOf
	Topic    *pipeline.Windows    `json:"topic,omitempty"`

	again     *pipeline.Scheduled // a run that begins at its Due, whatever the triggers say; may be nil
	done      string              // digest of the rows of the last numbered run, if it has finished
	unchosen  int                 // number of latest runs in a row whose files or window could not be chosen
	notBefore time.Time           // earliest time to count rows, files and offsets again
	fault     string              // the reason to wait until notBefore
}

// maxNumber is the largest number of a sequence, far above any real one.
const maxNumber = 1 << 52

// number returns the last number that was reserved, or 0.
func (s *jobState) number() int64 {
	if s.Run == nil {
		return 0
	}
	return s.Run.Sequence
}

// files returns the files of the last run with a number, in their order.
func (s *jobState) files() []dataset.ManifestFile {
	if s.Run == nil {
		return nil
	}
	return s.Run.Files
}

// state returns the state of a job from its output, or a new one. It returns an error for a changed or incomplete job.
func (j *Job) state(ctx context.Context) (*jobState, error) {
	if j.Name == "" || j.Output == nil || (j.Lake == nil) == (j.Topic == nil) || j.Software == "" || !j.Job.Repeated {
		return nil, fmt.Errorf("%w: schedule: job %q: Name, Output, one of Lake and Topic, Software and Job.Repeated are to be set", job.ErrConfig, j.Name)
	}
	identity, err := j.Job.Digest()
	if err != nil {
		return nil, err
	}
	text, where, err := j.Output.Note(StateFile)
	if err == nil && text == nil {
		return j.begun(ctx, identity.String())
	}
	s := &jobState{}
	if err == nil {
		text, err = digest.Unseal(text)
	}
	if err == nil {
		err = certify.Unmarshal(text, s)
	}
	switch k := s.number(); {
	case err != nil:
	case s.Format != stateFormat:
		err = fmt.Errorf("its format is %q, this program knows %q", s.Format, stateFormat)
	case s.Last == nil || s.Run != nil && (k < 1 || k > maxNumber):
		err = fmt.Errorf("%d is no number of a sequence, or there are no moments", k)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (hint: it says which numbers are reserved; restore it from a copy, or give the job another name and output)", where, err)
	}
	if s.Job != j.Name {
		return nil, fmt.Errorf("%w: jobs: the output of %s is that of the job %s, by %s (hint: give it another output)", job.ErrConfig, j.Name, s.Job, where)
	}
	if s.Identity != identity.String() {
		return nil, fmt.Errorf("%w: jobs: %s is another job than its first run had, with which it shares delta (hint: undo the change, and write a file that stopped the job again without the rows at fault; or give the job another name and output)", job.ErrConfig, j.Name)
	}
	j.reserved = s.number()
	return s, nil
}

// begun returns the state of a new job. It returns an error if the output has runs of the job: without their state,
// the order of files, and so the subset of each row, is unknown.
func (j *Job) begun(ctx context.Context, identity string) (*jobState, error) {
	_, most, err := j.numbers(ctx)
	if most = cmp.Or(most, j.reserved); err == nil && most > 0 {
		err = fmt.Errorf("%s is not in the output, which has or had a run or a certificate with number %d of sequence %q (hint: restore it from a copy, or give the job another name and output)", StateFile, most, j.Name)
	}
	return &jobState{Format: stateFormat, Job: j.Name, Identity: identity, Last: map[string]time.Time{}}, err
}

// put writes the state. The caller holds the output.
func (j *Job) put(s *jobState) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return j.Output.PutNote(StateFile, digest.Seal(text))
}

// certified returns the ids of the job's certificates by their numbers, and the largest number.
func (j *Job) certified(ctx context.Context) (ids map[int64]string, largest int64, err error) {
	ids, err = j.Output.Numbered(ctx, j.Name)
	for k := range ids {
		largest = max(largest, k)
	}
	return ids, largest, err
}

// numbers returns the ids of the job's certificates by their numbers, and the largest number of a certificate or run.
func (j *Job) numbers(ctx context.Context) (ids map[int64]string, largest int64, err error) {
	ids, largest, err = j.certified(ctx)
	all, fault := j.Runs()
	if err = cmp.Or(err, fault); err != nil {
		return nil, 0, err
	}
	for r := range all {
		largest = max(largest, r.Scheduled.Sequence)
	}
	return ids, largest, nil
}

// Runs returns the records of the job's runs, the newest first.
func (j *Job) Runs() (iter.Seq[*pipeline.RunState], error) {
	all, err := j.Output.Runs()
	if err != nil {
		return nil, err
	}
	return func(yield func(*pipeline.RunState) bool) {
		for r := range all {
			if r.Scheduled == nil || r.Scheduled.Job != j.Name {
				continue
			}
			if r.Ended == nil && r.State != pipeline.StateRunning { // a damaged record
				r.Ended = &r.Began
			}
			if !yield(r) {
				return
			}
		}
	}, nil
}

// last returns the newest run of the job for which is returns true, or nil. If is is nil, any run will do.
func (j *Job) last(is func(*pipeline.RunState) bool) (*pipeline.RunState, error) {
	all, err := j.Runs()
	if err != nil {
		return nil, err
	}
	for r := range all {
		if is == nil || is(r) {
			return r, nil
		}
	}
	return nil, nil
}

// mostDoublings is the number of failures after which pauses grow no longer.
const mostDoublings = 16

// settle completes the state from the records of runs. It ends a run that a killed scheduler has not ended; the next
// try of that run resumes from its checkpoint.
func (s *Scheduler) settle(j *Job, state *jobState, held bool, now time.Time) error {
	all, err := j.Runs()
	if err != nil {
		return err
	}
	var last, numbered *pipeline.RunState // the newest one, and the one with the last number
	counts := true
	for r := range all {
		last = cmp.Or(last, r)
		if counts = counts && r.State == pipeline.StateFailed && r.Scheduled.Sequence == 0; counts {
			state.unchosen++
		}
		if state.Run != nil && r.Scheduled.Number == state.Run.Number {
			numbered = r
		}
		if (!counts || state.unchosen == mostDoublings) && (state.Run == nil || r.Scheduled.Number <= state.Run.Number) {
			break
		}
	}
	switch {
	case state.Run != nil && state.Run.Number > 0 && (last == nil || last.Scheduled.Number < state.Run.Number): // killed before its first record
		state.again = repeated(state.Run, now)
		return nil
	case last == nil:
		return nil
	case last.State == pipeline.StateRunning && !held:
		return errHold
	case last.State == pipeline.StateRunning:
		if err := s.endKilled(j, last, now); err != nil {
			return err
		}
	}
	if state.unchosen > 0 {
		state.notBefore, state.fault = last.Ended.Add(min(longestBackoff, j.backoff(state.unchosen-1))), last.Fault
	}
	state.again = j.again(last)
	if numbered == nil {
		return nil
	}
	if numbered.State == pipeline.StateFinished {
		state.done = j.batchOf(numbered.Scheduled).digest
		for _, f := range state.unused(numbered.Scheduled.Files) {
			state.Used = append(state.Used, contentOf(f))
		}
		state.For = "" // another run on the same rows gets another number
	}
	if j.closes(numbered) {
		state.Topic, state.For = state.Topic.Without(), ""
		if j.checked.IsZero() { // a killed scheduler may not have removed the spool
			s.discard(j, numbered)
		}
	}
	return nil
}

// repeated returns another try of a run, due at a time.
func repeated(run *pipeline.Scheduled, at time.Time) *pipeline.Scheduled {
	return &pipeline.Scheduled{Trigger: run.Trigger, Moment: run.Moment, Try: run.Try, Kills: run.Kills, Files: run.Files, Due: &at}
}

// again returns the next try of a run that has ended, or nil. A run that was interrupted or killed is repeated, and one
// that has failed is retried up to Retries times. Faults of the job are not retried, because a retry does not help.
func (j *Job) again(r *pipeline.RunState) *pipeline.Scheduled {
	of, due := r.Scheduled, *r.Ended
	if of.Due != nil && (r.State == pipeline.StateInterrupted || r.Exit != nil) {
		due = *of.Due
	}
	next := repeated(of, due)
	switch {
	case r.State == pipeline.StateInterrupted || r.State == pipeline.StateFailed && r.Exit == nil:
		return next
	case r.State == pipeline.StateFailed && *r.Exit == pipeline.ExitFailure && of.Try <= j.Retries:
		next.Try, next.Kills = of.Try+1, 0
		return next
	default:
		return nil
	}
}

// closes reports whether a run that has ended closes its window, with a certificate or by skipping its rows.
func (j *Job) closes(r *pipeline.RunState) bool {
	return r.Scheduled.Window != nil && j.again(r) == nil
}

// discard removes the spooled rows of a run's window.
func (s *Scheduler) discard(j *Job, r *pipeline.RunState) {
	if err := j.Topic.Discard(*r.Scheduled.Window); err != nil {
		s.Observer.ReportEvent(fmt.Sprintf("%s: the spool of its last window stays: %v", j.Name, err))
	}
}

// reserve gives a run its number in the sequence, before its bound is known. A number has only one certificate: a try
// on the same rows by the same program has the number of the try before.
func (s *Scheduler) reserve(ctx context.Context, j *Job, state *jobState, run *pipeline.Scheduled, b *batch) error {
	ids, most, err := j.numbers(ctx)
	if err != nil {
		return err
	}
	number := state.number()
	if most > number {
		return fmt.Errorf("a run or a certificate of the output has number %d of sequence %q, and %s ends at %d: it is older (hint: restore the newest one, or give the job another name and output)", most, j.Name, StateFile, number)
	}
	if state.For != b.number {
		number++
	}
	next := *state
	run.Sequence = number
	next.Run, next.For, b.certified = run, b.number, ids[number]
	if run.Window != nil {
		next.Topic = state.Topic.With(*run.Window)
	}
	if err := j.put(&next); err != nil {
		run.Sequence = 0 // no record may name a number that is not reserved
		return err
	}
	j.reserved = number
	return nil
}
