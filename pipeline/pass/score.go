package pass

import (
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// ScaledLoss returns a model's loss in scaled units.
func ScaledLoss(spec certify.Loss, target job.Affine) (loss.Loss, error) {
	epsilon := spec.Epsilon / target.Scale
	if spec.Kind.Tolerances() == certify.ShareTolerance {
		epsilon = spec.Epsilon
	}
	return loss.New(loss.Kind(spec.Kind), epsilon, spec.Below/target.Scale, spec.Above/target.Scale, target.Centre/target.Scale)
}

// A Scorer computes predictions and losses of a model. Several goroutines may use it, each with its own [Workspace]. They
// share its workers.
type Scorer struct {
	meta   ModelMeta
	inputs int // number of columns of [ModelMeta.Inputs]
	loss   loss.Loss
	// ofConstant returns a lower bound on the loss of a constant: constantLoss.
	ofConstant func(y, c float64) float64
	scale      dataset.Scaler
	accuracy   float64          // τ, in scaled units
	draws      *model.Predictor // of Q; nil if only predictions are needed
	predictor  *model.Predictor // of Predictive; nil if the model has none yet
	around     *model.Predictor // of Q moved to the weights of predictions; nil if no method needs it
}

// NewScorer returns a scorer of random draws, and of predictions if the model has Predictive. It is for sources whose
// columns are the model's inputs, in order, and then the target. Close it after use.
func NewScorer(m Model, workers int) (*Scorer, error) {
	s, err := NewPredictionScorer(m, workers)
	if err != nil {
		return nil, err
	}
	if s.draws, err = model.NewPredictor(m.Posterior, workers); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// NewPredictionScorer returns a scorer of predictions only.
func NewPredictionScorer(m Model, workers int) (*Scorer, error) {
	l, err := ScaledLoss(m.Meta.Loss, m.Meta.Target)
	if err != nil {
		return nil, err
	}
	mean, inputs := -1, len(m.Meta.Features)
	if m.Meta.Mean != "" {
		mean, inputs = inputs, inputs+1
	}
	s := &Scorer{
		meta: m.Meta, inputs: inputs, loss: l, ofConstant: constantLoss(m.Meta.Loss),
		scale:    dataset.NewScaler(dataset.Indices(len(m.Meta.Features)), m.Meta.Features, m.Meta.Encode, mean, m.Meta.Target),
		accuracy: Accuracy(m.Meta.Loss, m.Meta.Target) / m.Meta.Target.Scale * (1 + 0x1p-40), // rounded up
	}
	if m.Predictive != nil {
		s.predictor, err = model.NewPredictor(m.Predictive, workers)
	}
	return s, err
}

// Labelled reports whether a block has targets.
func (s *Scorer) Labelled(b dataset.Block) bool { return len(b.Columns) > s.inputs }

// Close frees the resources of the scorer.
func (s *Scorer) Close() {
	for _, p := range []*model.Predictor{s.draws, s.predictor, s.around} {
		if p != nil {
			p.Close()
		}
	}
}

// A Workspace holds scaled rows and their scores. It is for one goroutine.
type Workspace struct {
	of   *Scorer
	n    int       // number of gathered rows
	x, y []float64 // inputs and targets, scaled
	from []float64 // what is subtracted from the raw targets
	laws loss.Laws
	hi   []float64 // upper bounds on the expected loss of a random draw, or on the loss of a prediction
}

// Workspace returns a workspace without rows.
func (s *Scorer) Workspace() *Workspace { return &Workspace{of: s} }

// Reset removes all rows and makes room for n.
func (w *Workspace) Reset(n int) {
	w.n = 0
	if len(w.y) >= n {
		return
	}
	w.x, w.y, w.from = make([]float64, n*w.of.scale.Inputs), make([]float64, n), make([]float64, n)
	w.laws, w.hi = loss.NewLaws(n), make([]float64, n)
}

// Gather adds rows [from, to) of a block, with their targets if it has them.
func (w *Workspace) Gather(b dataset.Block, from, to int) {
	d := w.of.scale.Inputs
	var y []float64
	if w.of.Labelled(b) {
		y = w.y[w.n:]
	}
	w.of.scale.Scale(b, from, to, w.x[w.n*d:], y)
	for i := from; i < to; i, w.n = i+1, w.n+1 {
		w.from[w.n] = w.of.scale.CentreOf(b, i)
	}
}

// GatherRow replaces the gathered rows by one raw row without its target.
func (w *Workspace) GatherRow(values []float64) {
	w.Reset(1)
	w.of.scale.Row(w.x, values)
	w.n, w.from[0] = 1, w.of.scale.CentreOfRow(values)
}

// GatherScaled replaces the gathered rows by scaled rows: inputs x row-major, and targets y. Their raw size is not known.
func (w *Workspace) GatherScaled(x, y []float64) {
	w.Reset(len(y))
	copy(w.x, x)
	copy(w.y, y)
	clear(w.from)
	w.n = len(y)
}

// GatherRaw replaces the gathered rows by raw rows, with their targets.
func (w *Workspace) GatherRaw(rows dataset.RawRows) {
	w.GatherScaled(w.of.scale.ScaleRaw(rows))
	for i := range w.n {
		w.from[i] = w.of.scale.CentreOfRow(rows.Row(i))
	}
}

// Predict computes mean and variance of the predictions for the gathered rows.
func (w *Workspace) Predict() error {
	return w.of.predictor.PredictLaws(w.x[:w.n*w.of.scale.Inputs], w.laws.Slice(0, w.n))
}

// Score computes, for the gathered rows, mean and variance under Q and upper bounds on the expected loss of a random draw.
// The rows must have targets.
func (w *Workspace) Score() error { return w.scoreDraws(w.of.draws) }

func (w *Workspace) scoreDraws(from *model.Predictor) error {
	err := from.PredictLoss(w.of.loss, w.of.accuracy, w.x[:w.n*w.of.scale.Inputs], w.y[:w.n], w.laws.Slice(0, w.n), w.hi[:w.n])
	w.withhold()
	return err
}

// ScoreMeans is Score for predictions: it computes mean, variance and upper bounds on the losses.
func (w *Workspace) ScoreMeans() error {
	err := w.of.predictor.PredictMeanLoss(w.of.loss, w.of.accuracy, w.x[:w.n*w.of.scale.Inputs], w.y[:w.n], w.laws.Slice(0, w.n), w.hi[:w.n])
	w.withhold()
	return err
}

// withhold lets rows count 1 whose predictions cannot be written with the accuracy that the certificate asks for.
func (w *Workspace) withhold() {
	for i := range w.n {
		if _, accurate := w.Raw(i); !accurate {
			w.laws.MeanError[i], w.hi[i] = math.Inf(1), 1
		}
	}
}

// Raw returns the mean of row i in raw units, and whether it has the accuracy that the certificate asks for.
func (w *Workspace) Raw(i int) (mean float64, accurate bool) {
	target, centre := w.of.meta.Target, w.from[i]
	mean = w.laws.Mean[i]*target.Scale + centre
	// Three operations round, each relative to what the mean is made of.
	rounding := 0x1p-51 * (math.Abs(mean) + math.Abs(centre))
	return mean, w.laws.MeanError[i]+rounding/target.Scale <= w.of.accuracy
}

// Law returns, in scaled units, the inputs of row i, and the computed mean and variance of f.
func (w *Workspace) Law(i int) (x []float64, mean, variance float64) {
	d := w.of.scale.Inputs
	return w.x[i*d : (i+1)*d], w.laws.Mean[i], w.laws.Variance[i]
}

// Residual returns the target of row i minus the computed mean, in scaled units.
func (w *Workspace) Residual(i int) float64 { return w.y[i] - w.laws.Mean[i] }

// Losses returns upper bounds on the losses of the scored rows. They are valid until rows are gathered or scored again.
func (w *Workspace) Losses() []float64 { return w.hi[:w.n] }

// AddTo adds the upper bounds on the losses to a sum.
func (w *Workspace) AddTo(sum *certify.RiskSum) error {
	for _, loss := range w.Losses() {
		if err := sum.Add(loss); err != nil {
			return err
		}
	}
	return nil
}

// off returns an upper bound, up to rounding, on the distance from the target of row i to every prediction within the
// accuracy, in scaled units. It is +Inf if the accuracy of the prediction is not proven.
func (w *Workspace) off(i int) float64 {
	m, y, err := w.laws.Mean[i], w.y[i], w.laws.MeanError[i]
	if !(err <= w.of.accuracy) {
		return math.Inf(1)
	}
	room := err + float64(6*0x1p-53*(math.Abs(m)+math.Abs(y))) // as of losses: docs/explanation/theory.md, 10
	return math.Abs(m-y) + room + w.of.accuracy
}

// accuracyPart is τ as a share of the tolerance. With a smaller share, predictions could not be proven for models with
// large weights, as for targets with hardly any noise.
const accuracyPart = 0x1p-12

// Accuracy returns τ, in raw units of the target: the largest allowed difference between a reader's prediction and the
// exact mean. It is so small a share of the tolerance that subtracting it hardly changes a bound.
func Accuracy(l certify.Loss, target job.Affine) float64 {
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

// constantLoss returns a function for lower bounds on the loss of predicting the constant c for the
// target y, both in raw units. The baseline errs downwards, so that an uncertain guarantee is vacuous.
// For a loss that [certify.Loss.Validate] refuses the bound is 0.
func constantLoss(spec certify.Loss) func(y, c float64) float64 {
	l, err := loss.New(loss.Kind(spec.Kind), spec.Epsilon, spec.Below, spec.Above, 0)
	if err != nil {
		return func(float64, float64) float64 { return 0 }
	}
	return l.Least
}
