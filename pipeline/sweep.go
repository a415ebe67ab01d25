package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// Sweep runs the alternatives of a job, one after the other, or the job itself if it has no
// sweep. with returns the environment of each, with its columns and a checkpoint of its own.
// done gets each result before the next alternative begins; its error ends the sweep. The job
// must have its defaults filled in.
//
// First it reads the rows of every alternative, so that faults are found before hours of
// training, and records the sweep as one attempt.
//
// A sweep that is killed and called again gives the same bytes. Alternatives with a finished
// checkpoint only repeat their last pass.
func Sweep(ctx context.Context, job Job, with func(Job) (Environment, error), done func(Job, *Result) error) error {
	s := sweep{alternatives: job.Alternatives(), with: with}
	attempt, err := s.declare(ctx)
	if err != nil {
		return err
	}
	for i, job := range s.alternatives {
		env, err := s.environment(job)
		if err != nil {
			return err
		}
		if len(s.alternatives) > 1 {
			env.Observer.event(fmt.Sprintf("alternative %d of %d: %s", job.Number, len(s.alternatives), job.Changes()))
		}
		if err := s.survey(ctx, job, env); err != nil {
			return err
		}
		if s.last.Digest != s.digests[i] || s.last.Targets != s.targets {
			return fmt.Errorf("%w: alternative %d: the first pass before the sweep read rows with digest %s, now they have %s", ErrChanged, i+1, s.digests[i], s.last.Digest)
		}
		found, err := run(ctx, job, s.src, s.last, attempt, env, time.Now().Add(-s.took))
		if err != nil {
			return err
		}
		s.took = 0 // the first pass counts once
		if err := done(job, found); err != nil {
			return err
		}
	}
	return nil
}

// A sweep is the state of [Sweep].
type sweep struct {
	alternatives []Job
	with         func(Job) (Environment, error)
	digests      []Digest // of the samples of the alternatives
	targets      Digest   // of all of them
	noticed      []string

	// The latest first pass, which alternatives of the same columns share, and its time.
	of   *Job
	src  Source
	last *Survey
	took time.Duration
}

func (s *sweep) environment(job Job) (Environment, error) {
	env, err := s.with(job)
	if err != nil {
		return env, err
	}
	env.Resources = env.Resources.WithDefaults()
	return env, env.needs("Open", "Sink", "Attempts", "Checkpoints", "Software")
}

// declare makes the first pass of each alternative, and records the attempt before there is any
// result.
func (s *sweep) declare(ctx context.Context) (certify.Attempt, error) {
	var env Environment
	var err error
	for i, job := range s.alternatives {
		env, err = s.environment(job)
		if err := errors.Join(job.complete(), job.placed(), err); err != nil {
			return certify.Attempt{}, err
		}
		if err := s.survey(ctx, job, env); err != nil {
			if len(s.alternatives) > 1 && ctx.Err() == nil {
				err = fmt.Errorf("alternative %d (%s): %w", i+1, job.Changes(), err)
			}
			return certify.Attempt{}, err
		}
		if i > 0 && s.last.Targets != s.targets {
			return certify.Attempt{}, fmt.Errorf("%w: alternative %d has other targets than the first", ErrChanged, i+1)
		}
		s.targets = s.last.Targets
		s.digests = append(s.digests, s.last.Digest)
	}
	return s.record(ctx, env)
}

// survey makes the first pass of an alternative, unless the last one was of the
// same columns.
func (s *sweep) survey(ctx context.Context, job Job, env Environment) error {
	if s.last != nil && job.sameRows(*s.of) {
		return job.bears(s.last.Target)
	}
	began := time.Now()
	env.Observer.progress(Progress{Phase: PhaseSurvey})
	s.last = nil // frees its rows before the next ones are read
	src, err := env.Open(ctx, nil)
	if err != nil {
		return err
	}
	found, err := survey(ctx, src, job, env.Resources, env.FirstPass)
	if err == nil && env.FirstPass != nil && !job.sifts() {
		err = found.leftOut(ctx, env)
	}
	if err != nil && found != nil {
		err = errors.Join(err, found.putAway(ctx, src, env.Quarantine, env.Resources))
	}
	if err != nil {
		return err
	}
	if err := found.putAway(ctx, src, env.Quarantine, env.Resources); err != nil {
		return err
	}
	for _, text := range found.Notices {
		if !slices.Contains(s.noticed, text) {
			env.Observer.notice(text)
			s.noticed = append(s.noticed, text)
		}
	}
	s.of, s.src, s.last, s.took = &job, src, found, time.Since(began)
	return nil
}

// record records the sweep as an attempt.
func (s *sweep) record(ctx context.Context, env Environment) (certify.Attempt, error) {
	configuration, err := s.alternatives[0].Identity()
	if err != nil {
		return certify.Attempt{}, err
	}
	onRows, inLog, err := env.Attempts.Record(ctx, Attempt{Targets: s.targets, Sample: s.sample(), Configuration: configuration})
	if err != nil {
		return certify.Attempt{}, err
	}
	env.Observer.event(fmt.Sprintf("attempt %d on these rows, %d in all, by the log of attempts; looks at hold-out rows have a log of their own", onRows, inLog))
	return certify.Attempt{OnTheseRows: int64(onRows), InThisLog: int64(inLog)}, nil
}

// sample is the digest of the attempt's rows: of one sample, or of those of all alternatives.
// docs/format.md, section "Log of attempts".
func (s *sweep) sample() Digest {
	if len(s.digests) == 1 {
		return s.digests[0]
	}
	text := binary.LittleEndian.AppendUint64([]byte("pacsgp/sweep/1\x00"), uint64(len(s.digests)))
	for _, d := range s.digests {
		text = append(text, d[:]...)
	}
	return sha256.Sum256(text)
}
