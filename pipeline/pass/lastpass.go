package pass

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Found is what a last pass finds about a model: the part of a certificate's evidence that depends on rows, which
// [Certify] completes. The pass uses a source opened again and the model's stored bytes, both in the run that certifies
// and in verification.
type Found struct {
	certify.Evidence

	prior       []job.Affine  // scaling by the prior rows: features, then target; nil without prior rows
	priorDigest string        // digest of the prior rows
	encode      job.Encodings // by the prior rows and the job; nil if no rows were read

	Kept dataset.RawRows // the prior rows, or the start rows if there are none, in the order of their ordinals
}

// Last makes the last pass, over all rows. The source's columns must be the model's features in order, the job's other
// columns, and the target. constant is the baseline's prediction in raw units, and groups are the values that have a
// group of their own.
func Last(ctx context.Context, src dataset.Source, m Model, job job.Job, constant float64, groups []float64, res job.Resources) (found *Found, err error) {
	prepared, err := Prepare(ctx, src, m, job, &TrainingState{Constant: constant, Groups: groups, Secret: dataset.NewSecret().String()}, res)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	pass, err := prepared.Pass(ctx, Whole)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pass.Close()) }()
	if found, err = pass.result(ctx, job, m); err != nil {
		return nil, err
	}
	found.Sample.Segments = dataset.SegmentsOf(src)
	return found, nil
}

// result returns what a pass over all rows has found. It returns [ErrPart] if parts do not fit together.
func (p *Pass) result(ctx context.Context, j job.Job, m Model) (*Found, error) {
	columns := columnsOf(j, m.Meta)
	if err := p.missing(); err != nil {
		return nil, err
	}
	if p.of.columns != len(columns) {
		return nil, fmt.Errorf("%w: they have %d columns, and the model has %d", ErrPart, p.of.columns, len(columns))
	}
	mean := job.MeanDecl{Column: m.Meta.Mean}
	found := &Found{Evidence: certify.Evidence{
		LossSums: p.lossSums.Clone(), Dependence: p.dependence(),
		Counts: certify.Counts{Rows: p.of.rows, Rejected: p.of.bad, Outside: p.of.outside},
		Sample: certify.Sample{Shards: int64(p.of.shards)},
	}}
	err := p.count(ctx, found, j)
	if err != nil {
		return nil, err
	}
	digest, targets := p.digests(dataset.Indices(p.of.columns))
	found.Sample.Digest, found.Sample.Targets = digest.String(), targets.String()
	kept, want := p.rows(), found.Counts.Prior
	prior := kept
	found.Constant = certify.Constant{Origin: certify.OriginPrior, Risk: found.LossSums.Of(certify.PredictorConstant, certify.SubsetTraining).Risk}
	if want == 0 {
		prior, want, found.Constant.Origin = dataset.NewRawRows(p.of.columns, nil), min(dataset.StartRows, found.Counts.Training), certify.OriginStart
	}
	found.priorDigest = prior.Digest(dataset.Indices(p.of.columns))
	if kept.Len() == 0 || int64(kept.Len()) != want {
		return nil, fmt.Errorf("%w: they have %d rows to choose the constant of the baseline on, not %d", ErrPart, kept.Len(), want)
	}
	if found.encode, err = dataset.LevelsSeen(j.Encode, columns, prior); err != nil {
		return nil, err
	}
	encoded := found.encode.By(columns)
	prior, kept = prior.Filled(encoded), kept.Filled(encoded)
	if found.Mean, err = dataset.MeanDistances(mean, prior, p.lossSums.Of(certify.PredictorColumn, certify.SubsetTraining).Risk, m.Meta.Target.Scale); err != nil {
		return nil, err
	}
	if found.Constant.Origin == certify.OriginPrior {
		for c := range len(m.Meta.Features) {
			found.prior = append(found.prior, dataset.Standardise(kept.Column(c)))
		}
		y := kept.Column(p.of.columns - 1)
		target := dataset.Standardise(y)
		target.Centre = mean.Centre(dataset.Centre(y, target.Centre))
		found.prior = append(found.prior, target)
	}
	if found.Grouping, err = grouping(j, columns, prior); err != nil {
		return nil, err
	}
	found.Kept = kept
	found.Constant.Value = bestConstant(kept.Column(p.of.columns-1), m.Meta.Loss)
	if j.Loss.Tolerance == certify.AnyTolerance {
		found.Constant.HalfWidth = halfWidth(kept.Column(p.of.columns - 1))
	}
	return found, dataset.KnowsTarget(mean, kept)
}

// grouping returns the groups of the job with the number of prior rows of each, or nil if there are no groups.
func grouping(j job.Job, columns []string, prior dataset.RawRows) (*certify.Grouping, error) {
	values, err := dataset.GroupValues(j, columns, prior)
	by := j.Grouping(values)
	if err != nil || by == nil || prior.Len() == 0 {
		return by, err
	}
	at, err := j.GroupColumn(columns)
	if err != nil {
		return nil, err
	}
	by.Prior = make([]int64, len(values)+1)
	for _, v := range prior.Column(at) {
		by.Prior[by.Of(v)]++
	}
	return by, nil
}

// count sets the counts of found: rows of each subset, units and duplicates. If examples are units, it adds their losses
// to the loss sums.
func (p *Pass) count(ctx context.Context, found *Found, job job.Job) (err error) {
	to, l := found.LossSums, &found.Counts
	l.Training, l.Holdout = to.Of(certify.PredictorDraw, certify.SubsetTraining).Risk.Count(), to.Of(certify.PredictorMean, certify.SubsetHoldout).Risk.Count()
	if p.units != nil {
		l.Units = job.Unit.Counted(&p.units.counts)
		if l.Training, l.Holdout, err = p.units.addTo(to); err != nil {
			return err
		}
	}
	duplicates, err := p.counted(ctx)
	if err != nil {
		return err
	}
	if found.Duplicates.Rows = duplicates.OfRows(); p.marks == nil {
		l.Duplicates = found.Duplicates.Rows
	}
	l.Prior = l.Rows - l.Training - l.Holdout - l.Duplicates - l.Rejected - l.Outside
	return nil
}

// counted returns the duplicates among all rows of the pass.
func (p *Pass) counted(ctx context.Context) (job.Duplicates, error) {
	if p.marks == nil {
		return p.duplicates, nil
	}
	return p.marks.count(ctx)
}

// The baseline is the bound's formula for a constant prediction. The constant is chosen by a fixed rule, on the prior
// rows or on the start rows if there are none, so that a publisher cannot choose a bad one. Sums of [loss.Loss.Least]
// have the same bits on every platform.

// halfWidth returns half the width of the narrowest interval that covers at least nine in ten of the targets.
func halfWidth(targets []float64) float64 {
	sorted, width := slices.Sorted(slices.Values(targets)), math.Inf(1)
	within := (9*len(sorted) + 9) / 10
	for i := range len(sorted) - within + 1 {
		width = min(width, sorted[i+within-1]-sorted[i])
	}
	return width / 2
}

// bestConstant returns the prediction, in raw units, that has the lowest loss on the given targets among 512
// candidates: 256 of the sorted targets at evenly spaced positions, and each of them plus its tolerance, which puts
// it on the lower edge of what the constant covers. Losses are added in the given order.
func bestConstant(targets []float64, spec certify.Loss) float64 {
	sorted := slices.Sorted(slices.Values(targets))
	width, loses := max(spec.Epsilon, spec.Above), constantLoss(spec)
	if spec.Kind.Counts() {
		targets = sorted // sums of 0 and 1 are exact in any order, and this one is the fastest
	}
	const positions = 256
	best, least := sorted[0], math.Inf(1)
	for i := range positions {
		y := sorted[i*(len(sorted)-1)/(positions-1)] + 0 // no −0, which JSON readers lose
		if spec.Kind.Tolerances() == certify.ShareTolerance {
			width = float64(spec.Epsilon * math.Abs(y))
		}
		for _, c := range []float64{y, y + width} {
			var sum float64
			for _, v := range targets {
				if sum += loses(v, c); sum >= least {
					break
				}
			}
			if sum < least {
				best, least = c, sum
			}
		}
	}
	return best
}

// dependence returns the series of the scaled targets, which shows how similar those of near rows are.
func (p *Pass) dependence() certify.Series {
	var targets series
	for _, s := range p.InOrder() {
		targets.merge(s.targetsInOrder)
	}
	return targets.Series
}
