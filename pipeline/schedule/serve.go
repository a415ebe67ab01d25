package schedule

import (
	"context"
	"errors"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Serve looks again and again what is due, until it is told to end, which is no error. No run
// begins if one of the jobs was changed. Runs follow one another: a machine that trains two
// models at a time trains each at half the speed.
func (s *Scheduler) Serve(ctx context.Context, jobs []*Job, clock Clock) error {
	if err := unchanged(jobs); err != nil {
		return err
	}
	for {
		began := clock.Now()
		for _, j := range jobs {
			if _, err := s.Look(ctx, j, clock.Now()); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if s.Looked != nil {
			s.Looked(began)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-clock.After(s.Poll):
		}
	}
}

// Once runs what is due of each job. Its error is a [RoundError] of each run that failed or was not
// certified, and of each source that cannot be seen; or what a round cannot go on with.
func (s *Scheduler) Once(ctx context.Context, jobs []*Job, clock Clock) error {
	if err := unchanged(jobs); err != nil {
		return err
	}
	var said []error
	var exits []int
	failed := func(exit int, err error) { exits, said = append(exits, exit), append(said, err) }
	for _, j := range jobs {
		for s.closed = true; s.closed; {
			s.unseen = nil
			run, err := s.Look(ctx, j, clock.Now())
			if err != nil {
				return errors.Join(append(said, err)...)
			}
			if s.unseen != nil {
				failed(pipeline.ExitFailure, s.unseen)
			}
			if run != nil && run.Exit != nil && *run.Exit != 0 {
				failed(*run.Exit, errors.New(Words(run)))
			}
		}
	}
	if said == nil {
		return nil
	}
	return RoundError{errors.Join(said...), worst(exits)}
}

// unchanged refuses jobs that were changed since their first run.
func unchanged(jobs []*Job) error {
	for _, j := range jobs {
		if _, err := j.sequence(); errors.Is(err, pipeline.ErrConfig) {
			return err // any other is told when the job is looked at
		}
	}
	return nil
}

// A RoundError says what failed of several runs.
type RoundError struct {
	error

	Exit int // status of the worst
}

// worst is the worst of exit statuses that are not 0: what no repetition mends is worse than
// a failure, and a failure worse than a run that was not certified.
func worst(exits []int) int {
	switch {
	case slices.Contains(exits, pipeline.ExitConfig):
		return pipeline.ExitConfig
	case slices.ContainsFunc(exits, func(exit int) bool { return exit != pipeline.ExitNotCertified }):
		return pipeline.ExitFailure
	default:
		return pipeline.ExitNotCertified
	}
}
