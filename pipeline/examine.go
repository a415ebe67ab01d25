package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

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
	Targets     Digest // of the multiset of the target's values
	Copies      Copies
	Dropped     int64           // rows with the role copy
	Risk        certify.RiskSum // upper bounds on the losses of a draw of Q on the train rows
	LowerRisk   certify.RiskSum // lower bounds on the same
	Unproven    int64           // train rows that are counted as a loss of 1
	Baseline    certify.RiskSum // lower bounds on the losses of the constant, on the same rows
	Mean        certify.RiskSum // of the mean of Q, on the same rows: for information
	Squared     float64         // mean squared error of the mean of Q, raw units: for information
	Reference   []Affine        // scaling that the reference rows give: features, then target
	Constant    float64         // the best constant on the rows that it is chosen on, raw units
	Origin      string          // which rows these are
	Neighbour   Neighbours      // of the targets
	Passed      time.Duration   // over the rows
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
// Roles and copies are found anew.
func examine(ctx context.Context, src Source, m Model, job Job, constant float64, res Resources) (found *examination, err error) {
	if err := sameColumns(src.Columns(), m.Meta); err != nil {
		return nil, err
	}
	used := make([]int, len(src.Columns()))
	for i := range used {
		used[i] = i
	}
	began := time.Now()
	rows, err := beginPass(ctx, src, job, used, res)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	roles := rows.roles
	if job.Scaling.Mode == ScalingReference && roles.Reference() < 2 {
		return nil, fmt.Errorf("%w: the job scales by the reference rows, of which there are %d", ErrData, roles.Reference())
	}
	e, err := newExaminer(m, roles, constant, res.Workers)
	if err != nil {
		return nil, err
	}
	defer e.predictor.Close()
	e.scale.used = used
	digests, err := rows.read(ctx, e.add)
	if err != nil {
		return nil, err
	}
	shards := src.Shards()
	found = &e.found
	if found.Copies, err = rows.copies(ctx); err != nil {
		return nil, err
	}
	found.Dropped = roles.Copies()
	found.Passed = time.Since(began)
	found.Shards = len(shards)
	found.Digest, found.Targets = sampleDigest(shards, digests, used), rows.src.digest()
	found.Neighbour = e.beside.found()
	found.Squared = e.squares / float64(max(found.Train, 1))
	if roles.Reference() > 0 {
		for c := range used {
			found.Reference = append(found.Reference, standardise(e.reference.column(c)))
		}
	}
	found.Constant, found.Origin = bestConstant(e.targets.values, m.Meta.Loss), baselineOrigin(roles)
	return found, nil
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

type examiner struct {
	model     Model
	roles     Roles
	scale     scaler
	loss      loss.Loss
	constant  float64 // raw
	accuracy  float64 // of a reader's mean, scaled
	predictor *model.Predictor

	// Train rows of one batch: scaled features, target scaled and raw, ordinal.
	x, y, target []float64
	ordinal      []int64
	laws         model.Laws
	lo, hi       []float64 // of the expected losses
	reference    rawRows
	targets      *targetCollector
	filled       int
	squares      float64
	beside       neighbours
	found        examination
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
		constant:  constant,
		accuracy:  scaledAccuracy(m.Meta.Loss, m.Meta.Target),
		predictor: predictor,
		targets:   newTargetCollector(roles),
		reference: newRawRows(int(roles.Reference()), len(m.Meta.Features)+1),
	}
	return e, nil
}

// add is the fold's step: one batch.
func (e *examiner) add(b block) error {
	e.found.Rows += int64(b.rows)
	targets := b.columns[len(b.columns)-1]
	e.targets.add(b.first, targets)
	err := e.roles.kept(b, func(from, to int) error {
		e.beside.add(targets[from:to])
		return nil
	})
	if err != nil {
		return err
	}
	for _, ordinal := range e.roles.referenceIn(b.first, b.first+int64(b.rows)) {
		copyRow(e.reference.row(e.filled), b, int(ordinal-b.first))
		e.filled++
	}
	e.reserve(b.rows)
	n, d := 0, e.scale.inputs()
	err = e.roles.runs(b, func(from, to int) error {
		e.scale.scale(b, from, to, e.x[n*d:], e.y[n:])
		copy(e.target[n:], b.columns[d][from:to])
		for i := from; i < to; i++ {
			e.ordinal[n] = b.first + int64(i)
			n++
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.rows(n)
}

func (e *examiner) reserve(n int) {
	if len(e.y) >= n {
		return
	}
	e.x = make([]float64, n*e.scale.inputs())
	e.y, e.target, e.ordinal = make([]float64, n), make([]float64, n), make([]int64, n)
	e.laws, e.lo, e.hi = model.NewLaws(n), make([]float64, n), make([]float64, n)
}

// rows adds the n train rows that have been gathered.
func (e *examiner) rows(n int) error {
	laws, y := e.laws.Slice(0, n), e.y[:n]
	if err := e.predictor.PredictLoss(e.loss, e.accuracy, e.x[:n*e.scale.inputs()], y, laws, e.lo[:n], e.hi[:n]); err != nil {
		return err
	}
	for i, mean := range laws.Mean {
		if !(laws.MeanError[i] <= e.accuracy) {
			e.found.Unproven++
		}
		point := e.loss.Point(y[i], mean)
		if math.IsNaN(point) { // far beyond every number: the row is unproven
			point = 1
		}
		err := errors.Join(
			e.found.Risk.Add(e.hi[i]),
			e.found.LowerRisk.AddLower(e.lo[i]),
			e.found.Baseline.AddLower(constantLoss(e.model.Meta.Loss, e.target[i], e.constant)),
			e.found.Mean.Add(point),
		)
		if err != nil {
			return fmt.Errorf("pipeline: row %d of the sample: %w", e.ordinal[i], err)
		}
		residual := (y[i] - mean) * e.model.Meta.Target.Scale
		e.squares += residual * residual
	}
	e.found.Train += int64(n)
	return nil
}
