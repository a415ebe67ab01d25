package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// challenge moves the pointer to a certificate if the job's rule of promotion says so.
func (j *Job) challenge(ctx context.Context, id string, now time.Time) (watch.Decision, error) {
	next, err := j.candidate(ctx, id)
	if err != nil {
		return watch.Decision{}, err
	}
	current, err := j.current()
	if err != nil {
		return watch.Decision{}, err
	}
	move := func(why string) (watch.Decision, error) {
		return watch.Decision{Moves: true, Why: why}, pipeline.PointTo(j.Output, next, pipeline.ArtifactRef{ID: id, Model: next.Model.Digest}, j.How.Required, now)
	}
	if current == nil {
		return move("the first")
	}
	if current.ID == id {
		return watch.Decision{Moves: true, Why: "it already was"}, nil
	}
	before, err := j.candidate(ctx, current.ID)
	if err != nil {
		return watch.Decision{}, err
	}
	d, err := j.Promote.Decide(before, next, j.How.Required)
	if err == nil && d.Moves {
		return move(d.Why)
	}
	return d, err
}

// current returns the pointer, or nil if nothing was ever current. If the pointer is missing or damaged, the error
// names the certificate that was current by the records of runs.
func (j *Job) current() (*pipeline.Current, error) {
	current, err := j.Output.Current()
	if current != nil && err == nil {
		return current, nil
	}
	last, failed := j.last(func(r *pipeline.RunState) bool { return r.Promoted() != "" })
	switch {
	case failed != nil:
		return nil, failed
	case last == nil:
		return nil, err
	case err == nil:
		err = errors.New("the pointer to the current certificate is gone")
	}
	_, where, _ := j.Output.Note(StateFile)
	return nil, fmt.Errorf("%w; by the record of run %d certificate %s was current, unless pacsgp promote has named another one since (hint: pacsgp promote %.12[3]s %[4]s)",
		err, last.Scheduled.Number, last.Promoted(), strings.TrimSuffix(where, "/"+StateFile))
}

// candidate returns a certificate of the output after it has recomputed its claims.
func (j *Job) candidate(ctx context.Context, id string) (certify.Certificate, error) {
	c, err := j.Output.GetCertificate(ctx, id)
	if err == nil {
		if err = certify.Recompute(c); err != nil {
			err = fmt.Errorf("certificate %s: %w", id, err)
		}
	}
	return c, err
}

// Promotable returns an error if a certificate does not follow from its model, or does not certify the predictor who.
func Promotable(ctx context.Context, c certify.Certificate, m pass.Model, id string, who certify.Predictor) error {
	if _, err := pipeline.Verify(ctx, c, m, c.Model.Digest, nil, job.Resources{}.WithDefaults()); err != nil {
		return err
	}
	if g := c.About(who); g.Status != certify.StatusCertified {
		return pipeline.NotCertified("the current model stays: nothing useful is certified about the %[2]s of %.12[1]s…, the claim is %[3]s", id, g.Predictor, g.Status)
	}
	return nil
}

// Promote makes a certificate of an output the current one, for example to roll back. If the certificate does not
// follow from its model or does not certify the predictor who, Promote returns an error and the pointer stays. before
// is the id of the certificate that was current, "nothing" or "unreadable".
func Promote(ctx context.Context, out pipeline.Output, id string, who certify.Predictor, now time.Time) (c certify.Certificate, before string, err error) {
	j := &Job{Output: out}
	if c, err = j.candidate(ctx, id); err != nil {
		return c, "", err
	}
	before, err = pipeline.Holding(out, func() (string, error) {
		m, err := out.GetModel(ctx, c.Model.Digest)
		if err == nil {
			err = Promotable(ctx, c, m, id, who)
		}
		if err != nil {
			return "", err
		}
		before := "unreadable"
		if current, err := out.Current(); err == nil {
			if before = "nothing"; current != nil {
				before = current.ID
			}
		}
		return before, pipeline.PointTo(out, c, pipeline.ArtifactRef{ID: id, Model: c.Model.Digest}, who, now)
	})
	return c, before, err
}
