package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Verification is the result of verifying a certificate.
type Verification struct {
	Evidence bool     // whether the rows were read and the evidence computed from them again
	Checked  []string // what was checked and is right, one line each
	Warnings []string // reasons to distrust the claims, in addition to the certificate's warnings

	retrained   bool // whether training again gave the same model: [Verification.Retrain]
	replayed    bool // whether the rows were read from a log, at the offsets that the certificate names
	certificate certify.Certificate
	model       pass.Model
	job         job.Job
	res         job.Resources
}

func (v *Verification) note(format string, args ...any) {
	v.Checked = append(v.Checked, fmt.Sprintf(format, args...))
}

// Verify checks a certificate against its model, whose stored bytes have the given SHA-256, and against the rows if open is
// not nil. If something does not agree, the error wraps [job.ErrRefused] and says what.
func Verify(ctx context.Context, c certify.Certificate, m pass.Model, modelDigest string, open dataset.OpenData, res job.Resources) (*Verification, error) {
	v := &Verification{certificate: c, model: m, res: res.WithDefaults()}
	err := v.files(ctx, modelDigest)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", job.ErrRefused, err)
	}
	if open == nil {
		return v, nil
	}
	src, err := open(ctx, dataset.ChoiceOf(v.job, m.Meta.FeatureNames(), res))
	if err != nil {
		return nil, err
	}
	n := dataset.RowsOf(src)
	if n != c.Counts.Rows {
		return nil, fmt.Errorf("%w: the data have %s, the certificate is about %d", job.ErrRefused, words.Count(n, "row"), c.Counts.Rows)
	}
	for i, shard := range src.Shards() {
		if all := c.Sample.Segments; i < len(all) && shard.Rows != all[i].Rows {
			return nil, fmt.Errorf("%w: %s has %s, the segment that the certificate names has %d", job.ErrRefused, shard.Name, words.Count(shard.Rows, "row"), all[i].Rows)
		}
	}
	if opened, ok := src.(dataset.Opened); ok && n*int64(len(src.Columns()))*8 <= v.res.Memory/2 {
		src = &reread{Opened: opened, whole: map[int]shardRead{}}
	}
	found, err := pass.Last(ctx, src, m, v.job, c.Constant.Value, c.GroupValues(), v.res)
	if err != nil {
		return nil, err
	}
	if err := v.rows(found); err != nil {
		return nil, fmt.Errorf("%w: %w", job.ErrRefused, err)
	}
	if err := v.features(ctx, open); err != nil {
		return nil, err
	}
	s, err := v.firstPassAgain(ctx, src)
	if err == nil {
		err = v.centre(s)
	}
	if err == nil {
		err = v.predictor(ctx, src, s)
	}
	var unlikely []string
	if err == nil {
		unlikely, err = unlike(c, m, s.Prior, v.res.Workers)
	}
	if err != nil {
		return nil, err
	}
	v.Warnings = append(v.Warnings, unlikely...)
	v.note("every number, computed again from model and rows, is the same")
	v.Evidence = true
	return v, nil
}

// compare makes the certificate again, and returns an error unless it is the same.
func (v *Verification) compare(found *pass.Found) error {
	c := v.certificate
	again, err := pass.Certify(v.job, c.Job.Values, v.model, c.Model.Digest, found, c.Publisher)
	if err != nil {
		return err
	}
	if err := certify.Same(c, again); err != nil {
		return fmt.Errorf("the certificate does not follow from model, rows and job: %w", err)
	}
	return nil
}

// files checks model and certificate without rows.
func (v *Verification) files(ctx context.Context, modelDigest string) error {
	c := v.certificate
	if err := certify.Recompute(c); err != nil {
		return err
	}
	v.note("the certificate follows from its evidence")
	if c.Model.Digest != modelDigest {
		return fmt.Errorf("the certificate is for the model file with SHA-256 %s, this one has %s", c.Model.Digest, modelDigest)
	}
	v.note("the model is the one that the certificate names")
	j, err := job.Stated(c.Job)
	if err != nil {
		return err
	}
	j = j.ForRows(c.Counts.Rows)
	j.Numbering, j.Reuse, j.Repeats = c.Delta.Sequence, c.Delta.Reuse, c.Duplicates.Rows > 0
	if err := j.CheckTarget(v.model.Meta.Target); err != nil {
		return err
	}
	v.job = j
	prior := j.PriorRows(c.Counts.Rows)
	// Without the rows it is unknown how many prior rows are left out.
	dropped := j.FiltersRows() && (c.Counts.Prior <= prior || j.Unit.Given())
	if c.Counts.Prior != prior && !dropped {
		return fmt.Errorf("the job makes %d prior rows of %d, the certificate says %d", prior, c.Counts.Rows, c.Counts.Prior)
	}
	rule := dataset.RuleOf(j, c.Counts.Rows)
	return cmp.Or(
		statedApart(ctx, c.Counts.Rows, j, j.Split.Holdout, rule.HeldOut, c.Counts.Holdout, "held-out"),
		statedApart(ctx, c.Counts.Rows, j, j.Split.Outside, rule.Outside, c.Counts.Outside, "outside"),
		v.compare(&pass.Found{Evidence: c.Evidence}))
}

// countableRows is the largest number of rows that a check without rows hashes, which takes some tenths of a second.
const countableRows = 1 << 20

// statedApart checks the number got of rows of a subset, which follows from n. It may be smaller if the job leaves out
// duplicates or rejected rows. For n above countableRows only a check with rows checks the number.
func statedApart(ctx context.Context, n int64, job job.Job, share float64, has func(dataset.Rank) bool, got int64, subset string) error {
	if (share > 0) != (got > 0) {
		return fmt.Errorf("the job's share of %s rows is %v, and the certificate has %d", subset, share, got)
	}
	if share == 0 || n > countableRows || job.Unit.Given() {
		return nil
	}
	want := int64(0)
	_, err := dataset.FirstByHash(ctx, job.Split.Key, 0, n, 0, func(x dataset.Rank) bool {
		if has(x) {
			want++
		}
		return true
	}, 1)
	if err != nil {
		return err
	}
	if got > want || got < want && !job.Drops() && !job.Rejected.Some() {
		return fmt.Errorf("the key makes %s of %d, the certificate says %d", words.Count(want, subset+" row"), n, got)
	}
	return nil
}

// rows checks the certificate against what a last pass has found.
func (v *Verification) rows(found *pass.Found) error {
	c := v.certificate
	if found.Sample.Digest != c.Sample.Digest {
		return fmt.Errorf("these are other rows than the certificate's, or in another order or row groups (digest %.12s, not %.12s)", found.Sample.Digest, c.Sample.Digest)
	}
	v.note("the rows are the dataset: %s, digest %.12s", words.Count(found.Counts.Rows, "row"), c.Sample.Digest)
	switch {
	case len(c.Sample.Segments) == 0:
		found.Sample.Segments = nil // the certificate's rows were not from a log, and it does not matter if these are
	case found.Sample.Segments == nil:
		found.Sample.Segments = c.Sample.Segments
	default:
		v.replayed = true
		v.note("the rows were read again from the log, topic %q, at the offsets that the certificate names", c.Sample.Segments[0].Topic)
	}
	if found.Constant.Value != c.Constant.Value {
		return fmt.Errorf("the constant of the baseline is %v on these rows, the certificate says %v", found.Constant.Value, c.Constant.Value)
	}
	if stated := c.GroupValues(); !slices.Equal(found.GroupValues(), stated) {
		return fmt.Errorf("the prior rows, or the job, give groups by the values %v, the certificate has %v", found.GroupValues(), stated)
	}
	return v.compare(found)
}

// firstPassAgain makes the first pass again, and returns an error if the rows have changed.
func (v *Verification) firstPassAgain(ctx context.Context, src dataset.Source) (*pass.FirstPass, error) {
	s, err := pass.First(ctx, src, v.job, v.res, nil)
	if err != nil {
		return nil, err
	}
	return s, v.unchanged(s)
}

// unchanged returns an error if a first pass has found another digest than the certificate's.
func (v *Verification) unchanged(s *pass.FirstPass) error {
	if want := v.certificate.Sample.Digest; s.Digest.String() != want {
		return fmt.Errorf("%w: the rows have the digest %.12s now, not %.12s", job.ErrChanged, s.Digest, want)
	}
	return nil
}

// features checks the features if the job does not list them: they must be those that the first pass chooses.
func (v *Verification) features(ctx context.Context, open dataset.OpenData) error {
	j, meta := v.job, v.model.Meta
	if j.Features != nil {
		return nil
	}
	src, err := open(ctx, dataset.ChoiceOf(j, nil, v.res))
	if err != nil {
		return err
	}
	if pass.SameColumns(src, meta, j, true) != nil {
		s, err := pass.First(ctx, src, j, v.res, nil)
		if err != nil {
			return err
		}
		if !slices.Equal(s.Features, meta.Features) {
			return fmt.Errorf("%w: the job takes every numeric column that is not constant on the prior rows; the model has other features", job.ErrRefused)
		}
		if err := v.unchanged(s); err != nil {
			return err
		}
	}
	return nil
}

// centre checks that each peak of the prior is at one of the two positions next to the estimate from the prior rows.
// Rounding on different instruction sets may make either the nearer one, and the weights pay for the choice.
func (v *Verification) centre(s *pass.FirstPass) error {
	c, j := v.certificate, v.job
	if j.Grid.Prior != certify.PriorPeaked {
		return nil
	}
	family, err := kernel.Named(c.Model.Kernel.Family)
	if err != nil {
		return fmt.Errorf("%w: %w", job.ErrRefused, err)
	}
	centres, err := fit.Estimate(j, s, family, v.res.Workers)
	if err != nil {
		return err
	}
	for i, at := range centres {
		if below, above := j.Grid.Peak(at, math.Floor), j.Grid.Peak(at, math.Ceil); c.Model.Theta[i].Grid.Centre != below && c.Model.Theta[i].Grid.Centre != above {
			return fmt.Errorf("%w: the prior rows put the peak of %q at the index %d or %d, the certificate at %d",
				job.ErrRefused, c.Model.Theta[i].Name, below, above, c.Model.Theta[i].Grid.Centre)
		}
	}
	return nil
}
