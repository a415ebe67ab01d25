package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// ErrRefused says that a certificate does not hold for the model or the rows
// that it was checked against.
var ErrRefused = errors.New("refused")

// A Verification is the result of a check of a certificate.
type Verification struct {
	Evidence  bool     // whether the rows were read again, or only the arithmetic checked
	Retrained bool     // whether training again gave the same model: see [Verification.Retrain]
	Checked   []string // what was found in order, one line each

	// Log says whether the rows were read from a log, at the offsets that the certificate names.
	Log bool

	certificate certify.Certificate
	job         Job
}

// Certificate is the checked certificate. What its document lacks is that of the rows.
func (v *Verification) Certificate() certify.Certificate { return v.certificate }

func (v *Verification) note(format string, args ...any) {
	v.Checked = append(v.Checked, fmt.Sprintf(format, args...))
}

// OpenData opens the chosen columns of the data that a certificate is checked against.
type OpenData func(ctx context.Context, want Choice) (Source, error)

// Verify checks a certificate against its model, whose stored bytes have the
// given SHA-256, and against the rows if open is not nil. An error that wraps
// [ErrRefused] says what does not agree.
func Verify(ctx context.Context, c certify.Certificate, m Model, modelDigest string,
	open OpenData, res Resources,
) (*Verification, error) {
	v := &Verification{certificate: c}
	job, err := v.files(ctx, c, m, modelDigest)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	v.job = job
	if open == nil {
		return v, nil
	}
	open = job.openData(open)
	src, err := open(ctx, job.choice(m.Meta.FeatureNames(), res))
	if err != nil {
		return nil, err
	}
	n := rowsOf(src)
	if n != c.Ledger.Rows {
		return nil, fmt.Errorf("%w: the data have %s, the certificate speaks of %d", ErrRefused, words.Count(n, "row"), c.Ledger.Rows)
	}
	if err := segmented(src, c.Sample.Segments); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	res = res.WithDefaults()
	src = readOnce(src, res.Memory)
	found, err := wholeLastPass(ctx, src, m, job, subject{constant: c.Constant.Value, groups: packed(c.GroupValues())}, res)
	if err != nil {
		return nil, err
	}
	if err := v.rows(c, m, modelDigest, job, found); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := v.features(ctx, m, job, open, res); err != nil {
		return nil, err
	}
	s, err := v.surveyAgain(ctx, src, job, res)
	if err != nil {
		return nil, err
	}
	if err := v.centre(s, c, job, res); err != nil {
		return nil, err
	}
	if err := v.predictor(ctx, src, s, m, job, res); err != nil {
		return nil, err
	}
	v.Evidence = true
	return v, nil
}

// segmented demands that each shard has as many rows as its segment, if there are segments.
func segmented(src Source, segments []Segment) error {
	for i, shard := range src.Shards() {
		if i < len(segments) && shard.Rows != segments[i].Rows {
			return fmt.Errorf("%s has %s, the segment that the certificate names has %d", shard.Name, words.Count(shard.Rows, "row"), segments[i].Rows)
		}
	}
	return nil
}

// derive makes the certificate that follows from job, model and findings, with the maker's word.
// A model that does not follow from the job is an error.
func derive(job Job, configuration []byte, m Model, modelDigest string, found *lastPassResult, word certify.Declared) (certify.Certificate, error) {
	ev, err := evidence(job, configuration, m, modelDigest, found, word)
	if err != nil {
		return certify.Certificate{}, err
	}
	return certify.Certify(ev)
}

// follows demands that a model's description follows from job, findings and posterior.
func follows(job Job, m Model, found *lastPassResult) error {
	if job.Encode != nil && found.Encode == nil {
		levels, err := job.Encode.stated(m.Meta)
		if err = errors.Join(err, levels.Validate()); err != nil {
			return fmt.Errorf("the model does not follow from the job: %w", err)
		}
		found.Encode = levels
	}
	job.Encode = found.Encode
	features, target := found.scaling(job, m.Meta)
	want, err := describe(job, features, target, m.Meta.Theta, m.Posterior)
	if err != nil {
		return fmt.Errorf("the model does not follow from the job: %w", err)
	}
	want.Predictor = m.Meta.Predictor // it follows from the rows: [Verification.predictor]
	a, err := json.Marshal(m.Meta)
	if err != nil {
		return err
	}
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("the model does not follow from the job and the reference rows: %s", certify.Difference(a, b))
	}
	if found.Mean != nil && found.Mean.Column != m.Meta.Mean || found.Mean == nil && m.Meta.Mean != "" {
		return fmt.Errorf("the model corrects the column %q, and the certificate speaks of another or of none", m.Meta.Mean)
	}
	if k := m.Posterior.Kernel; !slices.Equal(k.Lengthscales, want.Lengthscales) || k.Variance != want.Variance {
		return errors.New("lengthscales or variance of the posterior are not those of the model's description")
	}
	if job.Roles.Holdout == 0 && (m.Meta.Predictor.Part != 0 || !slices.Equal(m.Predictive.Mean, m.Posterior.Mean)) {
		return errors.New("no hold-out rows judge the predictor, and it is not the mean of Q")
	}
	return job.fitsInducing(found.Ledger.Train, len(want.Lengthscales), m.Posterior.Inducing())
}

// fitsInducing demands a number of inducing points that the job allows: at most the largest of its
// list or, without a list, that of the rule in N. There may be fewer, if start rows repeat or lie
// far from the others. Any number is a choice of Q, which is free.
func (j Job) fitsInducing(n int64, d, m int) error {
	most := model.Config{N: n, Dim: d}.Scheduled().Inducing
	switch {
	case j.Train.Method.exact():
		most = certify.MaxInducing
	case len(j.Inducing) > 0:
		most = slices.Max(j.Inducing)
	case j.Train.Method != MethodFreeForm:
		most = paperInducing
	}
	if m > most {
		return fmt.Errorf("the model has %d inducing points, the job allows %d", m, most)
	}
	return nil
}

// compare derives the certificate again and demands the same.
func compare(c certify.Certificate, job Job, m Model, modelDigest string, found *lastPassResult) error {
	again, err := derive(job, c.Job.Values, m, modelDigest, found, c.Publisher)
	if err != nil {
		return err
	}
	if err := certify.Same(c, again); err != nil {
		return fmt.Errorf("the certificate does not follow from model, rows and job: %w", err)
	}
	return nil
}

// files checks model and certificate without rows.
func (v *Verification) files(ctx context.Context, c certify.Certificate, m Model, modelDigest string) (Job, error) {
	var job Job
	if err := certify.Recompute(c); err != nil {
		return job, err
	}
	v.note("the certificate follows from its evidence")
	if c.Model.Digest != modelDigest {
		return job, fmt.Errorf("the certificate is for the model file with SHA-256 %s, this one has %s", c.Model.Digest, modelDigest)
	}
	v.note("the model is the one that the certificate names")
	job, err := statedJob(c.Job)
	if err != nil {
		return job, err
	}
	job = job.ForRows(c.Ledger.Rows).in(c.Delta.Sequence)
	job.looks, job.repeats = c.Delta.Looks, c.Copies.Rows > 0
	if err := job.bears(m.Meta.Target); err != nil {
		return job, err
	}
	found := &lastPassResult{Evidence: c.Evidence}
	reference := job.references(c.Ledger.Rows)
	// Without the rows it is not known how many reference rows are left out.
	dropped := job.sifts() && (c.Ledger.Reference <= reference || job.Unit.given())
	if c.Ledger.Reference != reference && !dropped {
		return job, fmt.Errorf("the job makes %d reference rows of %d, the certificate says %d", reference, c.Ledger.Rows, c.Ledger.Reference)
	}
	rule := job.rule(c.Ledger.Rows)
	for _, apart := range []struct {
		share  float64
		has    func(rank) bool
		stated int64
		role   string
	}{{job.Roles.Holdout, rule.heldOut, c.Ledger.Holdout, "hold-out"}, {job.Roles.Outside, rule.outside, c.Ledger.Outside, "outside"}} {
		if err := statedApart(ctx, c.Ledger.Rows, job, apart.share, apart.has, apart.stated, apart.role); err != nil {
			return job, err
		}
	}
	if err := compare(c, job, m, modelDigest, found); err != nil {
		return job, err
	}
	v.note("model and certificate follow from the job")
	return job, nil
}

// countableRows bounds the rows that are hashed in a check without rows, which takes some seconds.
const countableRows = 10_000_000

// statedApart checks the number of rows of a role, which follows from n. There may be fewer, for
// copies and bad rows are left out. Above countableRows only a check with rows can tell.
func statedApart(ctx context.Context, n int64, job Job, share float64, has func(rank) bool, got int64, role string) error {
	if (share > 0) != (got > 0) {
		return fmt.Errorf("the job's share of %s rows is %v, and the certificate has %d", role, share, got)
	}
	if share == 0 || n > countableRows || job.Unit.given() {
		return nil
	}
	set, err := keptApart(ctx, job.Roles.Key, n, has, leftOut{}, 1)
	if err != nil {
		return err
	}
	if want := set.size(); got > want || got < want && !job.drops() && !job.BadRows.Some() {
		return fmt.Errorf("the key makes %s of %d, the certificate says %d", words.Count(want, role+" row"), n, got)
	}
	return nil
}

// statedJob reads the job of a certificate. It must be valid and in the form that a run gives it:
// each key known and given once, with the defaults filled in.
func statedJob(stated certify.Configuration) (Job, error) {
	var job Job
	decoder := json.NewDecoder(bytes.NewReader(stated.Values))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&job); err != nil {
		return job, fmt.Errorf("configuration: %w", err)
	}
	job, err := job.WithDefaults()
	if err != nil {
		return job, fmt.Errorf("configuration: %w", err)
	}
	digest, err := job.Digest()
	if err != nil {
		return job, err
	}
	if digest.String() != stated.Digest {
		return job, errors.New("the configuration is not in the form that a run gives it")
	}
	return job, nil
}

// rows checks what follows from the rows.
func (v *Verification) rows(c certify.Certificate, m Model, modelDigest string, job Job, found *lastPassResult) error {
	if found.Sample.Digest != c.Sample.Digest {
		return fmt.Errorf("the data have the digest %s, the certificate says %s: not the same rows in the same order and row groups", found.Sample.Digest, c.Sample.Digest)
	}
	v.note("the rows are the dataset: %s, digest %.12s", words.Count(found.Ledger.Rows, "row"), c.Sample.Digest)
	switch {
	case len(c.Sample.Segments) == 0:
		found.Sample.Segments = nil // of rows that were read elsewhere it does not matter that they are in a log now
	case found.Sample.Segments == nil:
		found.Sample.Segments = c.Sample.Segments
	default:
		v.Log = true
		v.note("the rows were read again from the log, topic %q, at the offsets that the certificate names", c.Sample.Segments[0].Topic)
	}
	if found.Constant.Value != c.Constant.Value {
		return fmt.Errorf("the constant of the baseline is %v on these rows, the certificate says %v", found.Constant.Value, c.Constant.Value)
	}
	if stated := c.GroupValues(); !slices.Equal(found.GroupValues(), stated) {
		return fmt.Errorf("the reference rows, or the job, give groups by the values %v, the certificate has %v", found.GroupValues(), stated)
	}
	if err := compare(c, job, m, modelDigest, found); err != nil {
		return err
	}
	v.note("every number, computed again from model and rows, is the same")
	return nil
}

// surveyAgain surveys the rows again; they must still be the sample.
func (v *Verification) surveyAgain(ctx context.Context, src Source, job Job, res Resources) (*Survey, error) {
	s, err := survey(ctx, src, job, res, nil)
	if err != nil {
		return nil, err
	}
	return s, v.unchanged(s)
}

// unchanged demands that a later reading found the sample.
func (v *Verification) unchanged(s *Survey) error {
	if want := v.certificate.Sample.Digest; s.Digest.String() != want {
		return fmt.Errorf("%w: the data have the sample digest %s now, not %s", ErrChanged, s.Digest, want)
	}
	return nil
}

// features checks that default features are all numeric columns of the data, without those that
// are constant on the reference rows.
func (v *Verification) features(ctx context.Context, m Model, job Job, open OpenData, res Resources) error {
	if job.Features != nil {
		return nil
	}
	src, err := open(ctx, job.choice(nil, res))
	if err != nil {
		return err
	}
	if sameColumns(src.Columns(), m.Meta, job) != nil {
		s, err := survey(ctx, src, job, res, nil)
		if err != nil {
			return err
		}
		if !slices.Equal(s.Features, m.Meta.Features) {
			return fmt.Errorf("%w: the job takes every numeric column that is not constant on the reference rows; the model has other features", ErrRefused)
		}
		if err := v.unchanged(s); err != nil {
			return err
		}
	}
	v.note("the features are those that the job's rule gives on these data")
	return nil
}

// centre checks that the peak of a prior is in one of the two cells beside the estimate of the
// reference rows. Instruction sets may put the estimate on either side of the middle between two
// cells, and the weights pay for the choice.
func (v *Verification) centre(s *Survey, c certify.Certificate, job Job, res Resources) error {
	if job.Grid.Prior != certify.PriorPeaked {
		return nil
	}
	family, err := kernel.Named(c.Model.Kernel.Family)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	centres, err := estimate(job, s, family, res.Workers)
	if err != nil {
		return err
	}
	for i, at := range centres {
		if below, above := job.Grid.peaksBeside(at); c.Model.Theta[i].Grid.Centre != below && c.Model.Theta[i].Grid.Centre != above {
			return fmt.Errorf("%w: the reference rows put the peak of %q at the index %d or %d, the certificate at %d",
				ErrRefused, c.Model.Theta[i].Name, below, above, c.Model.Theta[i].Grid.Centre)
		}
	}
	v.note("the peaks of the grid's weights are in a cell beside the estimate of the reference rows")
	return nil
}
