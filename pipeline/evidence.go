package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// evidence joins the findings of the last pass, the declarations of the job and the maker's word.
// A run certifies it; verification certifies it again and compares the documents. A model that
// does not follow from the job is an error.
func evidence(job Job, configuration []byte, m Model, modelDigest string, found *lastPassResult, word certify.Declared) (certify.Evidence, error) {
	job = job.ForRows(found.Ledger.Rows)
	if err := errors.Join(job.placed(), job.BadRows.allow(found.Ledger.Bad, found.Ledger.Rows), job.Copies.allow(found.Copies)); err != nil {
		return certify.Evidence{}, err
	}
	if err := follows(job, m, found); err != nil {
		return certify.Evidence{}, err
	}
	jitter, err := checkNumbers(m)
	if err != nil {
		return certify.Evidence{}, err
	}
	meta := m.Meta
	kl, err := certify.GaussianKL(m.Posterior.Mean, m.Posterior.Factor, m.Posterior.Inducing())
	if err != nil {
		return certify.Evidence{}, err
	}
	if job.Unit.given() != (found.Ledger.Units != nil) {
		return certify.Evidence{}, errors.New("units are counted, or not, against the job")
	}
	if word.Training.Hurried > 0 && job.Train.Time == 0 {
		return certify.Evidence{}, errors.New("training was hurried by a time limit that the job does not have")
	}
	if word.Training.Ancestor != nil && !job.Train.WarmStart {
		return certify.Evidence{}, errors.New("training began with another model, which the job does not declare")
	}
	stated, err := certify.State(configuration)
	if err != nil {
		return certify.Evidence{}, err
	}
	ev := found.Evidence
	ev.Loss = certify.TargetLoss{Loss: meta.Loss, Target: meta.Target.Name, Unit: job.Loss.Unit}
	ev.Delta, ev.Tallies = job.Spends(), found.Tallies.For(job.Spends())
	ev.Copies.Policy, ev.Copies.Limit = job.Copies.Policy, job.Copies.Limit
	ev.Ledger.Units, ev.Grouping = job.Unit.counted(found.Ledger.Units), job.grouping(found.GroupValues())
	ev.Sample.Columns = slices.Concat(job.inputs(meta), job.Unit.Columns, []string{meta.Target.Name})
	ev.Model = certify.Facts{
		Digest: modelDigest, KL: kl, Accuracy: accuracy(meta.Loss, meta.Target), Theta: meta.Theta, Jitter: jitter,
		Kernel: certify.Kernel{Family: meta.Kernel, Families: job.Kernel.Family, ARD: meta.ARD},
	}
	ev.Job, ev.Publisher = stated, word
	return ev, nil
}

// accuracyPart is τ as a share of the tolerance. A smaller one would leave models of targets with hardly any
// noise, whose weights are large, without predictions that are proven.
const accuracyPart = 0x1p-12

// accuracy is τ, in raw units of the target: the largest error of a reader's prediction of the
// exact mean. It is so small a part of the tolerance that subtracting it costs next to nothing.
func accuracy(l certify.Loss, target Affine) float64 {
	switch l.Kind.Tolerances() {
	case certify.OneTolerance:
		return l.Epsilon * accuracyPart
	case certify.TwoSided:
		return min(l.Below, l.Above) * accuracyPart
	case certify.ShareTolerance:
		return l.Epsilon * target.Scale * accuracyPart
	case certify.NoTolerance:
	}
	return target.Scale * accuracyPart
}

// scaledAccuracy is the accuracy in scaled units, rounded up.
func scaledAccuracy(l certify.Loss, target Affine) float64 {
	return accuracy(l, target) / target.Scale * (1 + 0x1p-40)
}

// describe derives the description of a model from job, scaling and the model itself: its kernel's
// family, grid values, peaks of the grid's weights, jitter and size. Training writes it;
// verification derives it again and compares.
func describe(job Job, features []Affine, target Affine, theta []certify.Parameter, p *model.Posterior) (ModelMeta, error) {
	meta := ModelMeta{
		Format: ModelFormat, Kernel: p.Kernel.Family.Name, ARD: !job.Kernel.Isotropic,
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
	meta.Loss = job.lossSpec(target)
	names := certify.ParameterNames(meta.FeatureNames(), meta.ARD)
	if len(theta) != len(names) {
		return meta, fmt.Errorf("%d hyper-parameters for %d features, want %d", len(theta), len(features), len(names))
	}
	for i, name := range names {
		grid := job.Grid.flat()
		if job.Grid.Prior == certify.PriorPeaked {
			grid = job.Grid.peaked(theta[i].Grid.Centre)
		}
		meta.Theta = append(meta.Theta, certify.Parameter{Name: name, Grid: grid, Index: theta[i].Index})
	}
	last := len(meta.Theta) - 1
	for i, f := range meta.Features {
		p := meta.Theta[0]
		if meta.ARD {
			p = meta.Theta[i]
		}
		meta.Lengthscales = append(meta.Lengthscales, slices.Repeat([]float64{model.Exponential(p.Value())}, job.Encode.Of(f.Name).width())...)
	}
	meta.Variance = model.Exponential(meta.Theta[last].Value())
	return meta, nil
}

// lossSpec is the declared loss in raw units.
func (j Job) lossSpec(target Affine) certify.Loss {
	epsilon := j.Loss.Epsilon
	if j.Loss.EpsilonStd != 0 {
		epsilon = j.Loss.EpsilonStd * target.Scale
	}
	return certify.Loss{Kind: j.Loss.Kind, Epsilon: epsilon, Below: j.Loss.Below, Above: j.Loss.Above}
}

// scaling derives the scaling of a model's columns from the reference rows. Without rows it is the model's own.
func (e *lastPassResult) scaling(job Job, meta ModelMeta) (features []Affine, target Affine) {
	columns := append(slices.Clone(meta.Features), meta.Target)
	if job.Scaling == ScalingNone {
		for i := range columns {
			columns[i].Centre, columns[i].Scale = 0, 1
		}
	}
	for i, a := range e.Reference {
		columns[i].Centre, columns[i].Scale = a.Centre, a.Scale
	}
	last := len(columns) - 1
	return job.Encode.unscaled(columns[:last]), columns[last]
}
