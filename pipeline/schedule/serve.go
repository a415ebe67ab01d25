package schedule

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Serve runs jobs when they are due, until ctx is done, which is no error. A changed job does not
// run, and stops no other one; if all jobs were changed, that is an error. Runs do not overlap: a
// machine that trains two models at a time trains each at half the speed.
func (s *Scheduler) Serve(ctx context.Context, jobs []*Job, clock Clock) error {
	for {
		faults := make([]error, len(jobs)) // of changed jobs
		for i, j := range jobs {
			if _, err := s.Look(ctx, j, clock.Now()); ctx.Err() == nil {
				faults[i] = err
			}
		}
		if len(jobs) > 0 && !slices.Contains(faults, nil) {
			return errors.Join(faults...)
		}
		for i, err := range faults {
			if err != nil {
				s.lookFailed(jobs[i], err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-clock.After(s.Poll):
		}
	}
}

// Once runs what is due of each job. It returns a [RoundError] about runs without a certified
// guarantee, unreadable sources and jobs that cannot run, and, whether or not something is due, about
// last runs that failed, damaged outputs and alarms about current models.
func (s *Scheduler) Once(ctx context.Context, jobs []*Job, clock Clock) error {
	var said []error
	var exits []int
	failed := func(exit int, err error) { exits, said = append(exits, exit), append(said, err) }
	for _, j := range jobs {
		run, err := s.Look(ctx, j, clock.Now())
		switch {
		case ctx.Err() != nil:
			return errors.Join(append(said, ctx.Err())...)
		case err != nil:
			failed(pipeline.ExitStatus(err), err)
		case s.lookFault != nil:
			failed(pipeline.ExitFailure, s.lookFault)
		case run == nil:
			if at, err := j.Standing(); err == nil && at.Fault() != "" {
				failed(*cmp.Or(at.Last.Exit, new(pipeline.ExitFailure)), errors.New(at.Fault()))
			}
		}
		if run != nil && run.Exit != nil && *run.Exit != 0 {
			failed(*run.Exit, errors.New(Words(run)))
		}
		if err := j.alarm(); err != nil {
			failed(pipeline.ExitStatus(err), err)
		}
	}
	if said == nil {
		return nil
	}
	return RoundError{errors.Join(said...), worst(exits)}
}

// A RoundError says what failed in a round.
type RoundError struct {
	error

	Exit int // the worst status
}

// worst is the worst of exit statuses other than 0: a bad configuration is worse than a failure,
// and that is worse than a run without a certified guarantee.
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
