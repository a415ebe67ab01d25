package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A scheduler decides when which job is run, from its record and the time that it is
// told. It has no clock and starts no goroutine.
type scheduler struct {
	record *scheduleRecord
	say    func(text string)
	warn   func(text string) // is told what has failed; nil: say is
	said   string            // the last of what is not to be said at every look
	// unlisted is why it was not seen whether the job that was looked at last is due.
	unlisted error
	// train runs a job that has its files and its number.
	train  func(ctx context.Context, j *scheduled, p prepared) (*outcome, error)
	fs     fileSystem // that outputs are written through; nil: that of the machine
	poll   time.Duration
	looked func(began time.Time) // is told when all jobs were looked at; nil: nobody is
	// lagged is told how many offsets of its topic a job has in no window yet; nil: nobody is.
	lagged func(j *scheduled, offsets int64)
}

// recover closes the runs that were at work when their scheduler ended: they are tried
// again, and go on from their checkpoints.
func (s *scheduler) recover(j *scheduled, now time.Time) error {
	known, err := s.record.job(j.Name)
	if err != nil || known.Open == 0 {
		return err
	}
	run := s.record.kept(known.Open)
	if run == nil { // so many runs of other jobs have come since that it has gone
		run = &scheduledRun{Number: known.Open, Job: j.Name, Trigger: "unfinished run", Moment: now, Try: 1}
	}
	known.Open = 0
	if run.Kills++; run.Kills <= mostKills {
		run.State, run.Fault, run.Ended = pipeline.StateFailed, "the scheduler has ended before it", &now
		known.Retry = run.again(now)
	} else {
		run.State, run.Kills = pipeline.StateFailed, 0
		s.failed(j, known, run, fmt.Errorf("the scheduler has ended before it %d times in a row (hint: does it have memory enough?)", mostKills+1), now)
		if known.Topic != nil && known.Retry == nil {
			known.Topic = known.Topic.Without()
		}
	}
	return s.record.save(j.Name, known, run, nil)
}

// mostKills is how often in a row a run is begun again whose scheduler has ended before it,
// which is no failure of the run.
const mostKills = 5

// look does what is due for a job by now. The error is one of the record, which nothing
// can be decided without; what becomes of a run stands there.
func (s *scheduler) look(ctx context.Context, j *scheduled, now time.Time) (*scheduledRun, error) {
	known, err := s.record.job(j.Name)
	if err != nil {
		return nil, err
	}
	switch err := s.agree(ctx, j, known, now); {
	case errors.Is(err, pipeline.ErrConfig) || ctx.Err() != nil:
		return nil, errors.Join(err, ctx.Err())
	case err != nil:
		s.unseen(fmt.Errorf("%s: which numbers of its sequence are taken cannot be told: %w", j.Name, err))
		return nil, nil
	}
	if known.Waiting != "" {
		if err := s.wait(ctx, j, known); err != nil {
			return nil, err
		}
	}
	if j.topic() != nil && known.Topic == nil {
		if err := s.firstSeen(ctx, j, known); err != nil {
			return nil, err
		}
	}
	if r := known.Retry; r != nil {
		if now.Before(r.At) {
			return nil, nil
		}
		return s.begin(ctx, j, known, &scheduledRun{Trigger: r.Trigger, Moment: r.Moment, Try: r.Tries + 1, Kills: r.Kills}, now)
	}
	run, err := s.due(ctx, j, known, now)
	if err != nil || run == nil {
		return nil, err
	}
	if run.State == stateSkipped {
		run.Began = now
		return run, s.record.save(j.Name, known, run, nil)
	}
	return s.begin(ctx, j, known, run, now)
}

// due returns the run that the triggers ask for, nil if none does. All moments up to now
// are dealt with then, of every trigger: runs do not overlap and do not queue.
func (s *scheduler) due(ctx context.Context, j *scheduled, known *jobState, now time.Time) (*scheduledRun, error) {
	var found *scheduledRun
	begun := false
	jitter := config.JitterOf(j.Name, time.Duration(j.Jitter))
	for _, key := range slices.Sorted(maps.Keys(j.Times)) {
		last, seen := known.Last[key]
		if !seen || last.After(now.Add(farAhead)) { // new; or the clock was far ahead
			known.Last[key], begun = now, true
			continue
		}
		d := config.DueSince(j.Times[key], last, now, jitter)
		if d.Count == 0 {
			continue
		}
		known.Last[key] = d.Moment
		late := now.Sub(d.Moment.Add(jitter(d.Moment))) > 2*s.poll
		run := &scheduledRun{Job: j.Name, Trigger: key, Moment: d.Moment, Missed: d.Count - 1, Try: 1}
		if late && j.Missed == config.MissedSkip {
			run.State, run.Missed = stateSkipped, d.Count
		}
		if found == nil || found.State == stateSkipped && run.State != stateSkipped {
			found = run
		}
	}
	if found != nil && found.State != stateSkipped {
		return found, nil
	}
	run, err := s.dueByData(ctx, j, known, now)
	if err != nil || run != nil {
		return run, err
	}
	if begun {
		err = s.record.save(j.Name, known, nil, nil)
	}
	return found, err
}

// farAhead is how far the last moment may lie ahead of the clock before the clock is
// taken to have been wrong then.
const farAhead = 48 * time.Hour

// dueByData asks the triggers that count rows, files and offsets. None looks at a value,
// so that how many rows there are, and when, is all that a moment depends on.
func (s *scheduler) dueByData(ctx context.Context, j *scheduled, known *jobState, now time.Time) (*scheduledRun, error) {
	if now.Before(known.NotBefore) && known.NotBefore.Before(now.Add(2*longestBackoff)) {
		s.unlisted = fmt.Errorf("%s: the last look has failed: %s; it is looked again at %s", j.Name, known.Fault, known.NotBefore.Format(time.RFC3339))
		return nil, nil
	}
	if j.topic() != nil {
		return s.dueByLag(ctx, j, known, now)
	}
	if !slices.ContainsFunc(j.Triggers, func(t config.Trigger) bool { return t.Rows > 0 || t.Files > 0 }) {
		return nil, nil
	}
	all, err := j.lakeNow(ctx)
	if err != nil {
		s.unseen(fmt.Errorf("%s: the lake cannot be listed: %w", j.Name, err))
		return nil, ctx.Err()
	}
	fresh := newSince(all, known.Files)
	if j.Files.Which == config.FilesNew { // those that the run before did not take may have been taken by earlier ones
		taken, err := s.record.taken(j.Name, fresh)
		if err != nil {
			return nil, err
		}
		i := -1
		fresh = slices.DeleteFunc(fresh, func(pipeline.ManifestFile) bool { i++; return taken[i] })
	}
	for _, t := range j.Triggers {
		if t.Files > 0 && int64(len(fresh)) >= int64(t.Files) || t.Rows > 0 && rowsOfFiles(fresh) >= int64(t.Rows) {
			return &scheduledRun{Job: j.Name, Trigger: t.Key(), Moment: now, Try: 1}, nil
		}
	}
	return nil, nil
}

// longestBackoff is the longest time for which rows, files and offsets are not counted again.
const longestBackoff = time.Hour

// A taking is what a run takes.
type taking struct {
	from   config.Origin
	digest string // names it
	number string // names what has one number in the sequence
	none   bool   // nothing that the run before had not

	out     *sinklake.Output // held; nil: nothing is run
	release func() error
}

// begin chooses the files of a run, or its window, records it with its number in the
// sequence, runs it, and records how it ended. It holds the output from the number to the
// pointer.
func (s *scheduler) begin(ctx context.Context, j *scheduled, known *jobState, run *scheduledRun, now time.Time) (begun *scheduledRun, err error) {
	run.Job, run.Began, run.State, run.Files = j.Name, now, pipeline.StateRunning, []pipeline.ManifestFile{}
	known.Retry = nil
	take, err := s.take(ctx, j, known, run)
	if err == nil && !take.none {
		out := sinklake.NewOutput(j.prepared.Output, s.fs)
		err = s.record.step(func() error {
			release, err := out.Hold()
			if err != nil {
				return err
			}
			take.out, take.release = out, release
			return s.number(ctx, out, j, known, run, take)
		})
	}
	if take.out != nil {
		defer func() { err = errors.Join(err, take.release()) }()
	}
	if ctx.Err() != nil { // nothing was chosen, and it is due still
		return nil, ctx.Err()
	}
	if errors.Is(err, errTaken) || errors.Is(err, durable.ErrLocked) { // it is due still
		s.unseen(fmt.Errorf("%s: %w", j.Name, err))
		return nil, nil
	}
	if err != nil {
		run.State, run.Window = pipeline.StateFailed, nil
		s.failed(j, known, run, err, now)
		known.NotBefore = now.Add(min(longestBackoff, time.Duration(j.Backoff)<<min(known.Unchosen, 16)))
		known.Unchosen, known.Fault = known.Unchosen+1, run.Fault
		err := s.record.save(j.Name, known, run, nil) // gives it its number
		s.tell(true, run.words())
		return run, err
	}
	known.Unchosen, known.NotBefore, known.Fault = 0, time.Time{}, ""
	if take.none {
		run.State, run.Ended, run.Why = stateNothing, &now, "there is no row that the run before had not"
		s.say(j.Name + ": " + run.Why)
		return run, s.record.save(j.Name, known, run, nil)
	}
	run.Sequence, known.Files = known.Numbers[take.number], run.Files
	if err := s.record.save(j.Name, known, run, nil); err != nil {
		return run, err
	}
	return run, s.finish(ctx, j, known, run, take)
}

// take chooses the files of a run, or its window, and notes them in its record.
func (s *scheduler) take(ctx context.Context, j *scheduled, known *jobState, run *scheduledRun) (taking, error) {
	if j.topic() != nil {
		return j.window(ctx, known, run)
	}
	all, err := j.lakeNow(ctx)
	if err != nil {
		return taking{}, err
	}
	taken, err := s.record.taken(j.Name, manifested(all))
	if err != nil {
		return taking{}, err
	}
	files, err := j.chosen(ctx, all, known.Files, taken, run.Moment)
	if err != nil {
		return taking{}, err
	}
	paths := make(config.Lake, len(files))
	for i, f := range files {
		paths[i] = f.path
	}
	run.Files = manifested(files)
	digest := digestOf(run.Files)
	text, err := json.Marshal([]string{digest, versionLine()})
	return taking{from: paths, digest: digest, number: hexOf(text), none: len(files) == 0 || known.Done == digest}, err
}

// finish runs what is recorded as running.
func (s *scheduler) finish(ctx context.Context, j *scheduled, known *jobState, run *scheduledRun, take taking) error {
	p := j.prepared
	p.Source, p.Job, p.held = take.from, p.Job.Numbered(j.Name, run.Sequence), take.out
	began := time.Now()
	o, err := s.train(ctx, j, p)
	if ctx.Err() != nil { // it was told to end
		ended := run.Began.Add(time.Since(began))
		run.State, run.Ended, run.Fault, known.Open = stateInterrupted, &ended, "the scheduler was stopped", 0
		known.Retry = run.again(ended)
		return errors.Join(ctx.Err(), s.record.save(j.Name, known, run, nil))
	}
	if err != nil && !errors.Is(err, durable.ErrLocked) {
		o, err = s.standing(ctx, p, o, err)
	}
	ended := run.Began.Add(time.Since(began))
	var taken []pipeline.ManifestFile
	if err == nil {
		run.State, run.Ended, run.Kills, run.Certificate, taken = pipeline.StateFinished, &ended, 0, o.Result.ID, run.Files
		known.Done = take.digest
		if run.Window == nil {
			delete(known.Numbers, take.number) // another certificate of files that look the same is another number
		}
		exit := 0
		if verdict := o.verdict(p); verdict != nil {
			exit, run.Fault = status(verdict), verdict.Error()
		}
		run.Exit = &exit
		if exit == 0 {
			var fault error
			run.Current, run.Why, fault = s.challenge(ctx, j, known, p, o)
			if fault != nil {
				exit, run.Why = exitFailure, fmt.Sprintf("whether it is to be current cannot be decided: %s (hint: when that is mended, pacsgp promote makes it current)", pipeline.Shortened(fault.Error()))
			}
			if known.Waiting == run.Certificate {
				known.WaitingRun = run.Number
			}
		}
	}
	switch {
	case errors.Is(err, durable.ErrLocked): // another scheduler, perhaps on the same window
		exit := exitFailure
		run.State, run.Ended, run.Exit, run.Fault = pipeline.StateFailed, &ended, &exit, pipeline.Shortened(err.Error())
		known.Retry = run.again(ended.Add(time.Duration(j.Backoff)))
	case errors.Is(err, kafkalog.ErrNoRows):
		run.State, run.Ended, run.Why = stateNothing, &ended, "its offsets are markers of transactions, records of aborted ones, or tombstones: there is no row"
	case err != nil:
		run.State, known.Done = pipeline.StateFailed, ""
		s.failed(j, known, run, err, ended)
	}
	if run.Window != nil && known.Retry == nil {
		s.leave(j, known, take)
	}
	known.Open = 0
	s.tell(run.Exit != nil && *run.Exit != 0, run.words())
	return s.record.save(j.Name, known, run, taken)
}

// again is the same try, made once more: what has ended it was no failure of the run.
func (r *scheduledRun) again(at time.Time) *retry {
	return &retry{At: at, Tries: r.Try - 1, Kills: r.Kills, Trigger: r.Trigger, Moment: r.Moment}
}

// failed records a failure, and when the run is tried again. Faults of the job are not.
func (s *scheduler) failed(j *scheduled, known *jobState, run *scheduledRun, err error, now time.Time) {
	exit := status(err)
	run.Fault, run.Exit, run.Ended = pipeline.Shortened(err.Error()), &exit, &now
	if run.Try <= j.Retries && exit == exitFailure {
		wait := time.Duration(j.Backoff) << min(run.Try-1, 16)
		known.Retry = &retry{At: now.Add(wait), Tries: run.Try, Trigger: run.Trigger, Moment: run.Moment}
	}
}

// unseen is told why it cannot be seen whether a job is due, which is not said at every look.
func (s *scheduler) unseen(err error) {
	s.unlisted = err
	if text := err.Error(); text != s.said {
		s.tell(true, text)
		s.said = text
	}
}

// tell says what was done, or what has failed.
func (s *scheduler) tell(failed bool, text string) {
	if failed && s.warn != nil {
		s.warn(text)
		return
	}
	s.say(text)
}

// words says in a line what became of a run.
func (r *scheduledRun) words() string {
	text := fmt.Sprintf("%s: run %d (%s): %s", r.Job, r.Number, r.Trigger, r.State)
	if r.Window != nil {
		text += ", " + r.Window.Words()
	}
	if r.Sequence > 0 {
		text += fmt.Sprintf(", number %d of its sequence", r.Sequence)
	}
	if r.Certificate != "" {
		text += fmt.Sprintf(", certificate %.12s…", r.Certificate)
	}
	switch {
	case r.Current:
		text += ", now current"
	case r.Certificate != "" && r.Why != "":
		text += ", not current"
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	if r.Fault != "" {
		text += ": " + r.Fault
	}
	return text
}

// limited runs a job within the limits of its schedule.
func limited(ctx context.Context, j *scheduled, p prepared, w system) (*outcome, error) {
	within := ctx
	if j.Time > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, time.Duration(j.Time))
		defer cancel()
	}
	if j.Memory > 0 {
		allowed := w.memory
		w.memory = func() int64 {
			if has := allowed(); has > 0 {
				return min(has, int64(j.Memory))
			}
			return int64(j.Memory)
		}
	}
	w.log = w.log.another()
	o, err := train(within, p, w)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("it has taken longer than the %v that the schedule gives it; tried again, it goes on from its checkpoint", time.Duration(j.Time))
	}
	if errors.Is(err, pipeline.ErrInterrupted) && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return o, err
}

// another is the same log for another run.
func (l *logging) another() *logging {
	next := newLogging()
	next.format, next.level, next.quiet = l.format, l.level, l.quiet
	return next
}

// lastNumber is the largest number that a certificate of an output has in a sequence.
func lastNumber(ctx context.Context, folder, name string) (last int64, err error) {
	err = issued(ctx, folder, name, func(_ string, c certify.Certificate) { last = max(last, c.Delta.Sequence.Number) })
	return last, err
}

// issued calls use with the certificates of an output that are of a sequence.
func issued(ctx context.Context, folder, name string, use func(id string, c certify.Certificate)) error {
	names, err := realFiles().List(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, file := range names {
		if id, ok := strings.CutPrefix(strings.TrimSuffix(file, ".json"), "certificate-"); !ok || file != sinklake.CertificateName(id) || len(id) != 2*sha256.Size {
			continue
		}
		c, id, err := readCertificate(ctx, filepath.Join(folder, file))
		if err != nil {
			return fmt.Errorf("%s: %w (hint: restore it from a copy, or take it away)", filepath.Join(folder, file), err)
		}
		if s := c.Delta.Sequence; s != nil && s.Name == name {
			use(id, c)
		}
	}
	return nil
}
