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
	job = job.ForRows(found.Rows)
	if err := errors.Join(job.placed(), job.BadRows.allow(found.Bad, found.Rows), job.Copies.allow(found.Copies)); err != nil {
		return certify.Evidence{}, err
	}
	if err := follows(job, m, found); err != nil {
		return certify.Evidence{}, err
	}
	jitter, err := checkNumbers(m)
	if err != nil {
		return certify.Evidence{}, err
	}
	unit, units, err := job.Unit.counted(found.Units)
	if err != nil {
		return certify.Evidence{}, err
	}
	meta := m.Meta
	kl, err := certify.GaussianKL(m.Posterior.Mean, m.Posterior.Factor, m.Posterior.Inducing())
	if err != nil {
		return certify.Evidence{}, err
	}
	if word.Training.Hurried > 0 && job.Train.Time == 0 {
		return certify.Evidence{}, errors.New("training was hurried by a time limit that the job does not have")
	}
	if word.Training.Ancestor != nil && !job.Train.WarmStart {
		return certify.Evidence{}, errors.New("training began with another model, which the job does not declare")
	}
	word.Unit = job.Loss.Unit
	return certify.Evidence{
		Loss:       certify.TargetLoss{Loss: meta.Loss, Target: meta.Target.Name},
		Delta:      job.Spends(),
		Tallies:    found.Tallies.For(job.Spends()),
		Accuracy:   accuracy(meta.Loss, meta.Target),
		KL:         kl,
		Kernel:     certify.Kernel{Family: meta.Kernel, Families: job.Kernel.Family, ARD: meta.ARD},
		Theta:      meta.Theta,
		Constant:   certify.Constant{Value: found.Constant, Origin: found.Origin, Risk: found.Tallies.Of(certify.PredictorConstant, certify.RoleTrain).Risk},
		Dependence: found.Dependence,
		Copies:     job.counted(found.Copies),
		Mean:       found.Mean,
		Grouping:   job.grouping(found.Groups),
		Ledger: certify.Ledger{
			Unit: unit, Units: units, Rows: found.Rows, Reference: found.reference(), Train: found.Train,
			Holdout: found.Holdout, Copies: found.Dropped, Bad: found.Bad, Outside: found.Outside,
		},
		Sample: certify.Sample{
			Digest: found.Digest.String(), Targets: found.Targets.String(), Shards: int64(found.Shards), Rows: found.Rows,
			Columns: slices.Concat(job.inputs(meta), job.Unit.Columns, []string{meta.Target.Name}), Segments: found.Segments,
		},
		RowRules:      meta.RowRules,
		ModelDigest:   modelDigest,
		Configuration: configuration,
		Roles:         certify.Roles{Key: job.Roles.Key, Last: job.Roles.Last},
		OptimiserSeed: job.Train.Seed, Jitter: jitter,
		Declared: word, Assumptions: assumptions(job, found),
	}, nil
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

// assumptions states which premises the run enforces, assumes or breaks.
func assumptions(job Job, found *lastPassResult) []certify.Assumption {
	n := found.Dependence
	rows := certify.Assumption{ID: certify.AssumeIndependentRows, Status: certify.AssumptionAssumed}
	if job.Unit.given() {
		rows.ID = certify.AssumeIndependentUnits
	}
	rows.Diagnostic = fmt.Sprintf("The correlation of the targets of consecutive rows is %.3f over %s.", n.Correlation, certify.Count(n.Pairs, "pair"))
	switch {
	case job.Unit.given():
		rows.Diagnostic += " Whether units are alike was not measured."
	case n.Suspicious:
		rows.Diagnostic += " Independent rows in order of arrival would hardly show what was measured of near rows: unless the rows were sorted, they depend on each other, and the bound may be too low."
	}
	rows.Diagnostic += " " + found.Copies.diagnostic()
	if job.BadRows.Some() {
		rows.Diagnostic += fmt.Sprintf(" %d of %d rows break a row rule and are left out: of these nothing is promised.", found.Bad, found.Rows)
	}
	enforced := func(id certify.AssumptionID) certify.Assumption {
		return certify.Assumption{ID: id, Status: certify.AssumptionEnforced}
	}
	return []certify.Assumption{
		rows, enforced(certify.AssumePriorFirst), enforced(certify.AssumeLossFirst),
		enforced(certify.AssumeRolesByKey), enforced(certify.AssumeSeparatePass), enforced(certify.AssumeLossProven),
	}
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
