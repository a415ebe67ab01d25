package schedule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Promotion is the rule by which a run's certificate, if it has the required guarantee,
// becomes current. The zero value means always.
type Promotion struct {
	// Error is the probability that a challenger replaces a current model that is as good: it waits
	// until it was better on rows that are new to both. 0: it replaces it at once.
	Error  float64
	MaxAge time.Duration // with Error: a current certificate that is older is replaced at once; 0: none is
}

// A decision says whether a certificate has become current, or waits for rows, and why.
type decision struct {
	moved, waits bool
	why          string
}

// challenge moves the pointer to a certificate if the job's rule says so.
func (j *Job) challenge(ctx context.Context, id string, now time.Time) (decision, error) {
	challenger, err := j.contender(ctx, id)
	if err != nil {
		return decision{}, err
	}
	current, err := j.Output.Current()
	if err != nil {
		return decision{}, err
	}
	move := func(why string) (decision, error) {
		return decision{moved: true, why: why}, pipeline.PointTo(j.Output, challenger, pipeline.ArtifactRef{ID: id, Model: challenger.Model.Digest}, j.Judge, now)
	}
	if current == nil {
		return move("nothing was current")
	}
	if current.ID == id {
		return decision{moved: true, why: "it was current"}, nil
	}
	champion, err := j.contender(ctx, current.ID)
	if err != nil {
		return decision{}, err
	}
	if why := pipeline.Incomparable(champion, challenger, j.Judge); why != "" {
		return decision{why: "it cannot be compared with the current one: " + why}, nil
	}
	switch age := now.Sub(current.Since); {
	case j.Promote.Error == 0:
		return move("it replaces the one before")
	case j.Promote.MaxAge > 0 && age > j.Promote.MaxAge:
		return move(fmt.Sprintf("the one before was current for more than %v", j.Promote.MaxAge))
	}
	return decision{waits: true, why: "it waits until it is better on rows that are new to both"}, nil
}

// contender reads a certificate of the output and recomputes it.
func (j *Job) contender(ctx context.Context, id string) (certify.Certificate, error) {
	c, err := j.Output.GetCertificate(ctx, id)
	if err == nil {
		if err = certify.Recompute(c); err != nil {
			err = fmt.Errorf("certificate %s: %w", id, err)
		}
	}
	return c, err
}

// verify checks a certificate against its model.
func (j *Job) verify(ctx context.Context, c certify.Certificate) error {
	m, err := j.Output.GetModel(ctx, c.Model.Digest)
	if err == nil {
		_, err = pipeline.Verify(ctx, c, m, c.Model.Digest, nil, j.How.Resources.WithDefaults())
	}
	return err
}

// gone reports whether a certificate is no longer in the output, as when keep removed it.
func (j *Job) gone(ctx context.Context, id string) bool {
	_, err := j.Output.GetCertificate(ctx, id)
	return errors.Is(err, fs.ErrNotExist)
}

// Promote makes a certificate of an output the current one, as to roll back. The certificate
// must follow from its model and certify the judged predictor; else the pointer stays. before
// is the id of the one before, or says that there was none.
func Promote(ctx context.Context, out pipeline.Output, id string, who pipeline.Judge, now time.Time) (c certify.Certificate, before string, err error) {
	j := &Job{Output: out, Judge: who}
	if c, err = j.contender(ctx, id); err != nil {
		return c, "", err
	}
	before, err = held(out, func() (string, error) {
		if err := j.verify(ctx, c); err != nil {
			return "", err
		}
		if g := who.Of(c); !g.Status.Promises() {
			return "", pipeline.NotCertified("the pointer stays: the guarantee of %.12s… for the %s is %s", id, g.Predictor, g.Status)
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
