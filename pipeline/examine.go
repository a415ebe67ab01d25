package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
)

// An examination is what one full pass over a sample finds about a model: the
// evidence of a certificate. It is made from a freshly opened source and from
// the model's stored bytes, by the run that certifies and by everybody who
// verifies.
type examination struct {
	Rows, Train int64
	Shards      int
	Digest      Digest
	Risk        certify.RiskSum // of a draw of Q on the train rows
	Baseline    certify.RiskSum // of the constant, on the same rows
	Mean        certify.RiskSum // of the mean of Q, on the same rows: for information
	Squared     float64         // mean squared error of the mean of Q, raw units: for information
	Reference   []Affine        // scaling that the reference rows give: features, then target
	Constant    float64         // the best constant on the reference rows, raw units
	Neighbour   Neighbours      // of the targets
	AuditError  float64         // largest difference between the fast and the slow expected loss
}

// scaledLoss is a model's loss in scaled units.
func scaledLoss(spec LossSpec, target Affine) (loss.Loss, error) {
	l, err := loss.New(spec.Kind, spec.Epsilon/target.Scale, spec.Below/target.Scale, spec.Above/target.Scale, target.Centre/target.Scale)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return l, nil
}

// examine makes the pass. The source's columns must be the model's features in
// order, then the target. constant is the baseline's prediction in raw units.
func examine(ctx context.Context, src Source, m Model, roles Roles, constant float64, workers int) (*examination, error) {
	if err := sameColumns(src.Columns(), m.Meta); err != nil {
		return nil, err
	}
	e, err := newExaminer(m, roles, constant, workers)
	if err != nil {
		return nil, err
	}
	defer e.predictor.Close()
	used := make([]int, len(src.Columns()))
	for i := range used {
		used[i] = i
	}
	e.scale.used = used
	digests, err := stream(ctx, src, nil, workers, e.add)
	if err != nil {
		return nil, err
	}
	shards := src.Shards()
	found := e.found
	found.Shards = len(shards)
	found.Digest = sampleDigest(shards, digests, used)
	found.Neighbour = e.beside.found()
	found.Squared = e.squares / float64(max(found.Train, 1))
	if roles.Reference() > 0 {
		for c := range used {
			found.Reference = append(found.Reference, standardise(e.reference.column(c)))
		}
		found.Constant, err = bestConstant(e.reference.column(len(used)-1), m.Meta.Loss, m.Meta.Target)
		if err != nil {
			return nil, err
		}
	}
	return &found, nil
}

func sameColumns(columns []string, meta ModelMeta) error {
	want := make([]string, 0, len(columns))
	for _, f := range meta.Features {
		want = append(want, f.Name)
	}
	if want = append(want, meta.Target.Name); !slices.Equal(columns, want) {
		return fmt.Errorf("pipeline: the source has columns %q, the model wants %q", columns, want)
	}
	return nil
}

// auditRows is the number of train rows whose expected loss is computed a
// second time, in high precision, to check that the slack covers the fast one.
const auditRows = 8

type examiner struct {
	model     Model
	roles     Roles
	scale     scaler
	loss      loss.Loss
	constant  float64 // scaled
	predictor *model.Predictor
	audit     map[int64]bool // ordinals

	x, y, mean, variance, expected []float64
	reference                      rawRows
	filled                         int
	squares                        float64
	beside                         neighbours
	found                          examination
}

func newExaminer(m Model, roles Roles, constant float64, workers int) (*examiner, error) {
	l, err := scaledLoss(m.Meta.Loss, m.Meta.Target)
	if err != nil {
		return nil, err
	}
	predictor, err := model.NewPredictor(m.Posterior, workers)
	if err != nil {
		return nil, err
	}
	e := &examiner{
		model: m, roles: roles, loss: l,
		scale:     scaler{features: m.Meta.Features, target: m.Meta.Target},
		constant:  (constant - m.Meta.Target.Centre) / m.Meta.Target.Scale,
		predictor: predictor,
		audit:     map[int64]bool{},
		reference: newRawRows(int(roles.Reference()), len(m.Meta.Features)+1),
	}
	ranks := firstByHash(roles.Key, roles.Rows, roles.Reference()+auditRows)
	for _, r := range ranks[roles.Reference():] {
		e.audit[r.ordinal] = true
	}
	return e, nil
}

// add is the fold's step: one batch.
func (e *examiner) add(b block) error {
	e.found.Rows += int64(b.rows)
	e.beside.add(b.shard, b.columns[len(b.columns)-1])
	for _, ordinal := range e.roles.referenceIn(b.first, b.first+int64(b.rows)) {
		copyRow(e.reference.row(e.filled), b, int(ordinal-b.first))
		e.filled++
	}
	e.reserve(b.rows)
	return e.roles.runs(b, func(from, to int) error { return e.rows(b, from, to) })
}

func (e *examiner) reserve(n int) {
	if len(e.y) >= n {
		return
	}
	e.x = make([]float64, n*e.scale.inputs())
	e.y, e.mean, e.variance, e.expected = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
}

// rows adds train rows [from, to) of a block.
func (e *examiner) rows(b block, from, to int) error {
	n, d := to-from, e.scale.inputs()
	x, y, mean, variance := e.x[:n*d], e.y[:n], e.mean[:n], e.variance[:n]
	e.scale.scale(b, from, to, x, y)
	if err := e.predictor.Predict(x, mean, variance); err != nil {
		return err
	}
	for i := range n {
		expected := e.loss.Expected(y[i], mean[i], variance[i])
		for _, sum := range []struct {
			of   *certify.RiskSum
			loss float64
		}{
			{&e.found.Risk, expected},
			{&e.found.Baseline, e.loss.Point(y[i], e.constant)},
			{&e.found.Mean, e.loss.Point(y[i], mean[i])},
		} {
			if err := sum.of.Add(sum.loss); err != nil {
				return fmt.Errorf("pipeline: row %d of the sample: %w", b.first+int64(from+i), err)
			}
		}
		residual := (y[i] - mean[i]) * e.model.Meta.Target.Scale
		e.squares += residual * residual
		if ordinal := b.first + int64(from+i); e.audit[ordinal] {
			slow, err := model.NewReference(e.model.Posterior, e.loss, x[i*d:(i+1)*d], y[i])
			if err != nil {
				return err
			}
			e.found.AuditError = max(e.found.AuditError, math.Abs(slow.Loss-expected)) // NaN stays
		}
	}
	e.found.Train += int64(n)
	return nil
}

// bestConstant returns the prediction, in raw units, that has the lowest loss
// on the reference rows' targets among 512 candidates: 256 of the sorted targets
// at evenly spaced places, and each of them plus the loss's half width, less a
// little, for rounding would decide what a target on the boundary loses. The
// choice uses reference rows alone, so that the constant is one fixed predictor
// for the train rows.
func bestConstant(targets []float64, spec LossSpec, target Affine) (float64, error) {
	l, err := scaledLoss(spec, target)
	if err != nil {
		return 0, err
	}
	scaled := make([]float64, len(targets))
	for i, y := range targets {
		scaled[i] = (y - target.Centre) / target.Scale
	}
	sorted := slices.Sorted(slices.Values(targets))
	width := (1 - 1e-9) * max(spec.Epsilon, spec.Below)
	const places = 256
	best, least := 0.0, math.Inf(1)
	for i := range places {
		y := sorted[i*(len(sorted)-1)/(places-1)]
		for _, c := range []float64{y, y + width} {
			var sum float64
			at := (c - target.Centre) / target.Scale
			for _, v := range scaled {
				sum += l.Point(v, at)
			}
			if sum < least {
				best, least = c, sum
			}
		}
	}
	return best, nil
}
