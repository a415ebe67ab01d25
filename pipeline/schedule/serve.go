package schedule

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Serve runs jobs when they are due, until ctx is done, and then returns nil. A changed job does not run, and does not
// stop the others. If all jobs are changed, Serve returns an error. Runs do not overlap, because two models that train
// at the same time on one machine train at half the speed.
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

// Once checks each job once and runs what is due. It returns a [RoundError] if a run ended without a certified
// guarantee, a source cannot be read or a job cannot run. It does so, too, if the last run of a job has failed, an
// output is damaged, or an alarm about a current model is raised, even if nothing is due.
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
		if err := j.alarm(ctx); err != nil {
			failed(pipeline.ExitStatus(err), err)
		}
	}
	if said == nil {
		return nil
	}
	return RoundError{errors.Join(said...), worst(exits)}
}

// A RoundError says what failed in a call of [Scheduler.Once].
type RoundError struct {
	error

	Exit int // the worst exit status
}

// worst returns the worst of exit statuses other than 0: a bad configuration is worse than a failure, and a failure is
// worse than a run without a certified guarantee.
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
