package pass

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Certify returns the certificate that follows from the results of the last pass, the job, and what the publisher
// declares. Verification computes it again and compares the documents. It is an error if the model does not follow from
// the job.
func Certify(job job.Job, configuration []byte, m Model, modelDigest string, found *Found, word certify.Declared) (c certify.Certificate, err error) {
	job = job.ForRows(found.Counts.Rows)
	if err := errors.Join(job.Sequenced(), job.Rejected.Allow(found.Counts.Rejected, found.Counts.Rows), job.Duplicates.Allow(found.Duplicates.Rows, found.Counts.Rows-found.Counts.Rejected)); err != nil {
		return c, err
	}
	if err := follows(job, m, found); err != nil {
		return c, err
	}
	check, limit, err := m.Posterior.JitterCheck() // the premise of the proofs: docs/explanation/theory.md, 10
	if err != nil {
		return c, fmt.Errorf("no certificate for these numbers: %w", err)
	}
	meta := m.Meta
	kl, err := certify.GaussianKL(m.Posterior.Mean, m.Posterior.Factor, m.Posterior.Inducing())
	if err != nil {
		return c, err
	}
	if job.Unit.Given() != (found.Counts.Units != nil) {
		return c, errors.New("units are counted, or not, against the job")
	}
	if word.Training.StoppedAfter > 0 && job.Train.Time == 0 {
		return c, errors.New("training stopped at a time limit that the job does not have")
	}
	if word.Training.Parent != nil && !job.Train.WarmStart {
		return c, errors.New("training began with another model, which the job does not declare")
	}
	stated, err := certify.State(configuration)
	if err != nil {
		return c, err
	}
	ev := found.Evidence
	ev.Loss = certify.TargetLoss{Loss: meta.Loss, Target: meta.Target.Name, Unit: job.Loss.Unit, Tolerance: job.Loss.Tolerance}
	ev.Delta, ev.LossSums = job.Spends(), found.LossSums.For(job.Spends())
	ev.Duplicates.Policy, ev.Duplicates.Limit = job.Duplicates.Policy, job.Duplicates.Limit
	ev.Counts.Units, ev.Grouping = job.Unit.Counted(found.Counts.Units), job.Grouping(found.GroupValues())
	if ev.Grouping != nil {
		ev.Grouping.Prior = found.Grouping.Prior
		if job.Groups.Values == nil && !dataset.Frequent(ev.Grouping, found.Counts.Prior) {
			return c, errors.New("a value has a group of its own that too few prior rows have")
		}
	}
	ev.Sample.Columns = columnsOf(job, meta)
	ev.Model = certify.Facts{
		Digest: modelDigest, KL: kl, Accuracy: Accuracy(meta.Loss, meta.Target), Theta: meta.Theta, Jitter: certify.JitterCheck{Limit: limit, Holds: check <= limit},
		Kernel: certify.Kernel{Family: meta.Kernel, Families: job.Kernel.Family, Isotropic: meta.Isotropic},
	}
	if job.Spends().Applies(certify.MethodMean) {
		if ev.Model.KLAround, err = certify.GaussianKL(m.Predictive.Mean, m.Posterior.Factor, m.Posterior.Inducing()); err != nil {
			return c, err
		}
	}
	ev.Job, ev.Publisher = stated, word
	return certify.Certify(ev)
}

// describe returns the description of a model, derived from the job, the scaling, and the model's kernel family, grid
// values, peaks of the grid's weights, jitter and size. Training writes it. Verification derives it again and compares.
func describe(job job.Job, features []job.Affine, target job.Affine, theta []certify.Parameter, p *model.Posterior) (ModelMeta, error) {
	meta := ModelMeta{
		Format: ModelFormat, Kernel: p.Kernel.Family.Name, Isotropic: job.Kernel.Isotropic,
		Features: slices.Clone(features), Encode: job.Encode, Target: target, RowRules: certify.RowRules(),
		Jitter: p.Jitter, Inducing: p.Inducing(),
	}
	if !slices.Contains(job.Kernel.Family, meta.Kernel) {
		return meta, fmt.Errorf("the kernel is %s, the job declares %q", meta.Kernel, job.Kernel.Family)
	}
	if job.Features != nil && len(job.Features) != len(features) {
		return meta, fmt.Errorf("the job has %d features, the model %d", len(job.Features), len(features))
	}
	for i, name := range job.Features {
		meta.Features[i].Name = name
	}
	meta.Target.Name, meta.Mean = job.Target, job.Mean.Column
	meta.Loss = job.LossSpec(target)
	names := certify.ParameterNames(meta.FeatureNames(), meta.Isotropic)
	if len(theta) != len(names) {
		return meta, fmt.Errorf("%d hyper-parameters for %d features, want %d", len(theta), len(features), len(names))
	}
	for i, name := range names {
		grid := job.Grid.Flat()
		if job.Grid.Prior == certify.PriorPeaked {
			grid = job.Grid.Peaked(theta[i].Grid.Centre)
		}
		meta.Theta = append(meta.Theta, certify.Parameter{Name: name, Grid: grid, Index: theta[i].Index})
	}
	last := len(meta.Theta) - 1
	for i, f := range meta.Features {
		p := meta.Theta[0]
		if !meta.Isotropic {
			p = meta.Theta[i]
		}
		meta.Lengthscales = append(meta.Lengthscales, slices.Repeat([]float64{model.Exponential(p.Value())}, job.Encode.Of(f.Name).Width())...)
	}
	meta.Variance = model.Exponential(meta.Theta[last].Value())
	return meta, nil
}

// scaling returns the scaling of a model's columns, derived from the prior rows. If no rows were read, it is the
// model's own.
func (e *Found) scaling(j job.Job, meta ModelMeta) (features []job.Affine, target job.Affine) {
	columns := append(slices.Clone(meta.Features), meta.Target)
	if j.Scaling == job.ScalingNone {
		for i := range columns {
			columns[i].Centre, columns[i].Scale = 0, 1
		}
	}
	for i, a := range e.prior {
		columns[i].Centre, columns[i].Scale = a.Centre, a.Scale
	}
	last := len(columns) - 1
	return j.Encode.Unscaled(columns[:last]), columns[last]
}

// follows returns an error unless a model's description follows from job, pass and posterior.
func follows(job job.Job, m Model, found *Found) error {
	if job.Encode != nil && found.encode == nil {
		levels, err := statedLevels(job.Encode, m.Meta)
		if err = errors.Join(err, levels.Validate()); err != nil {
			return fmt.Errorf("the model does not follow from the job: %w", err)
		}
		found.encode = levels
	}
	job.Encode = found.encode
	features, target := found.scaling(job, m.Meta)
	want, err := describe(job, features, target, m.Meta.Theta, m.Posterior)
	if err != nil {
		return fmt.Errorf("the model does not follow from the job: %w", err)
	}
	want.Predictor = m.Meta.Predictor // checked with the rows: [pipeline.Verification.predictor]
	a, err := json.Marshal(m.Meta)
	if err != nil {
		return err
	}
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("the model does not follow from the job and the prior rows: %s", certify.Difference(a, b))
	}
	if found.Mean != nil && found.Mean.Column != m.Meta.Mean || found.Mean == nil && m.Meta.Mean != "" {
		return fmt.Errorf("the model corrects the column %q, and the certificate is about another one, or about none", m.Meta.Mean)
	}
	if k := m.Posterior.Kernel; !slices.Equal(k.Lengthscales, want.Lengthscales) || k.Variance != want.Variance {
		return errors.New("lengthscales or variance of the posterior are not those of the model's description")
	}
	if job.Split.Holdout == 0 && (m.Meta.Predictor.Part != 0 || !slices.Equal(m.Predictive.Mean, m.Posterior.Mean)) {
		return errors.New("no held-out rows test the predictor, and it is not the mean of Q")
	}
	return fitsInducing(job, found.Counts.Training, len(want.Lengthscales), m.Posterior.Inducing())
}

// fitsInducing returns an error if a model has more inducing points than the job allows: the largest of its list or,
// without a list, the number by the rule in N. There may be fewer, for example if start rows repeat. The bound holds for
// any number, because it is part of the choice of Q.
func fitsInducing(j job.Job, n int64, d, m int) error {
	most := model.Config{N: n, Dim: d}.Scheduled().Inducing
	switch {
	case j.Train.Method.Exact():
		most = certify.MaxInducing
	case len(j.Inducing) > 0:
		most = slices.Max(j.Inducing)
	case j.Train.Method != job.MethodFreeForm:
		most = job.PaperInducing
	}
	if m > most {
		return fmt.Errorf("the model has %d inducing points, the job allows %d", m, most)
	}
	return nil
}

// statedLevels returns the encodings with the medians and levels of a model's description filled in.
func statedLevels(e job.Encodings, meta ModelMeta) (job.Encodings, error) {
	return e.Completed(func(column string) (float64, error) {
		if of := meta.Encode.Of(column); of != nil && of.Fill != nil && of.Fill.With != nil {
			return *of.Fill.With, nil
		}
		return 0, fmt.Errorf("the model does not fill %q", column)
	}, func(one job.Encoding) ([]float64, error) {
		if of := meta.Encode.Of(one.Column); of != nil {
			return of.OneHot, nil
		}
		return nil, fmt.Errorf("the model does not encode %q", one.Column)
	})
}
