package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// A begun run has made its first pass, and is recorded as an attempt.
type begun struct {
	src     Source
	survey  *Survey
	attempt certify.Attempt
	at      time.Time
}

// begin makes the first pass of a job, and records the attempt before there is any result. All faults
// of job and environment are one error, before anything is read.
func begin(ctx context.Context, job Job, env Environment) (b begun, err error) {
	b.at = time.Now()
	if err := errors.Join(job.complete(), job.placed(), env.needs("Open", "Sink", "Log", "Checkpoints", "Software")); err != nil {
		return b, err
	}
	env.Observer.progress(Progress{Phase: PhaseSurvey})
	if b.src, err = env.Open(ctx, nil); err != nil {
		return b, err
	}
	b.survey, err = survey(ctx, b.src, job, env.Resources, env.FirstPass)
	if err == nil && env.FirstPass != nil && !job.sifts() && !b.survey.repeats {
		err = b.survey.leftOut(ctx, env)
	}
	if b.survey != nil {
		err = errors.Join(err, b.survey.putAway(ctx, b.src, env.Quarantine, env.Resources))
	}
	if err != nil {
		return b, err
	}
	for _, text := range b.survey.Notices {
		env.Observer.notice(text)
	}
	configuration, err := job.Digest()
	if err != nil {
		return b, err
	}
	if b.attempt, err = (Attempt{Targets: b.survey.Targets, Sample: b.survey.Digest, Configuration: configuration}).record(env.Log); err != nil {
		return b, err
	}
	env.Observer.event(fmt.Sprintf("attempt %d on these rows, %d in all, by the log of the output", b.attempt.OnTheseRows, b.attempt.InThisLog))
	return b, nil
}
