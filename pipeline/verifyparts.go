package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// survey makes a first pass.
func (v *Verification) survey(ctx context.Context, src Source, job Job, res Resources) (*Survey, error) {
	if v.parts == nil || v.job.Schema.Given() {
		return survey(ctx, src, job, res, nil)
	}
	job.Train.Rows = 0 // else the parts would have these rows
	return survey(ctx, src, job, res, v.parts)
}

// pass makes the last pass.
func (v *Verification) pass(ctx context.Context, src Source, m Model, job Job, res Resources) (found *lastPassResult, err error) {
	c := v.certificate
	if v.parts == nil {
		return wholeLastPass(ctx, src, m, job, subject{constant: c.Baseline.Constant, groups: packed(c.GroupValues())}, res)
	}
	h, err := checkHandover(ctx, c, job, res)
	if err != nil {
		return nil, err
	}
	err = v.parts(ctx, h, src.Shards(), func(all *Pass) (err error) {
		if err := errors.Join(h.owns(job, all), all.missing()); err != nil {
			return err
		}
		if all.of.layout != layoutDigest(src.Shards()) {
			return fmt.Errorf("%w: they are of other row groups than there are", ErrPart)
		}
		if h.told(job) != nil && all.of.outside != h.Outside {
			return fmt.Errorf("%w: they have %d outside rows, not %d", ErrPart, all.of.outside, h.Outside)
		}
		found, err = all.result(ctx, job, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	found.Segments = segmentsOf(src)
	return found, nil
}

// checkHandover passes a certificate to the parts of its check, as training does to those of its last
// pass. The secret is new.
func checkHandover(ctx context.Context, c certify.Certificate, job Job, res Resources) (*Handover, error) {
	configuration, err := job.canonical()
	if err != nil {
		return nil, err
	}
	h := &Handover{
		Format: HandoverFormat, Arithmetic: model.Arithmetic, Configuration: configuration,
		Model: c.Model.Digest, Sample: c.Sample.Digest, Targets: c.Sample.Targets,
		Constant: c.Baseline.Constant, Groups: c.GroupValues(), Sequence: c.Delta.Sequence, Secret: newSecret().String(),
	}
	if job.sifts() {
		return h, nil
	}
	if err := job.rolesFit(c.Sample.Rows, res); err != nil {
		return nil, err
	}
	roles, err := newRoles(ctx, job, c.Sample.Rows, leftOut{}, res.Workers)
	h.tell(job, roles)
	return h, err
}

// PrepareCheck prepares a pass over all rows of a check, of which it makes parts ([VerifyInParts]). The
// model must be the certificate's.
func (h *Handover) PrepareCheck(ctx context.Context, m Model, open OpenData, res Resources) (*Prepared, error) {
	job, err := h.job()
	if err != nil {
		return nil, err
	}
	known, hidden, err := h.known()
	if err != nil {
		return nil, err
	}
	res = res.WithDefaults()
	open = job.openData(open)
	src, err := open(ctx, job.choice(m.Meta.FeatureNames(), res))
	if err == nil && h.First() && !slices.Equal(src.Columns(), h.Columns) { // those of the job's rule
		src, err = open(ctx, job.choice(nil, res))
	}
	if err != nil {
		return nil, err
	}
	if h.First() {
		return h.prepareFirst(ctx, src, job, hidden, res)
	}
	return prepare(ctx, src, m, job, known, hidden, h.told(job), res)
}
