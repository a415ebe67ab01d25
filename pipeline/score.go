package pipeline

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
)

// scaledLoss is a model's loss in scaled units.
func scaledLoss(spec certify.Loss, target Affine) (loss.Loss, error) {
	epsilon := spec.Epsilon / target.Scale
	if spec.Kind.Tolerances() == certify.ShareTolerance {
		epsilon = spec.Epsilon
	}
	l, err := loss.New(loss.Kind(spec.Kind), epsilon, spec.Below/target.Scale, spec.Above/target.Scale, target.Centre/target.Scale)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	return l, nil
}

// A scorer computes predictions and losses of a model. Several goroutines may use it, each with
// its own workspace; they share its workers.
type scorer struct {
	meta ModelMeta
	loss loss.Loss
	// ofConstant bounds the loss of a constant from below: see constantLoss.
	ofConstant func(y, c float64) float64
	scale      scaler
	accuracy   float64          // τ, scaled
	draws      *model.Predictor // by Q; nil where nobody asks
	predictor  *model.Predictor // by the law of predictions; nil: the model has none yet
}

// newScorer returns a scorer for sources whose columns are the model's inputs in order, then
// the target: of draws of Q, and of predictions once the model has their law. Close it after use.
func newScorer(m Model, workers int) (*scorer, error) {
	s, err := newPredictionScorer(m, workers)
	if err != nil {
		return nil, err
	}
	if s.draws, err = model.NewPredictor(m.Posterior, workers); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// newPredictionScorer returns a scorer of predictions alone.
func newPredictionScorer(m Model, workers int) (*scorer, error) {
	l, err := scaledLoss(m.Meta.Loss, m.Meta.Target)
	if err != nil {
		return nil, err
	}
	s := &scorer{
		meta: m.Meta, loss: l, ofConstant: constantLoss(m.Meta.Loss),
		scale:    newScaler(indices(len(m.Meta.Inputs())+1), m.Meta.Features, m.Meta.Encode, m.Meta.Target),
		accuracy: scaledAccuracy(m.Meta.Loss, m.Meta.Target),
	}
	if m.Predictive != nil {
		s.predictor, err = model.NewPredictor(m.Predictive, workers)
	}
	return s, err
}

func (s *scorer) close() {
	for _, p := range []*model.Predictor{s.draws, s.predictor} {
		if p != nil {
			p.Close()
		}
	}
}

// A workspace gathers rows and scores them.
type workspace struct {
	of   *scorer
	n    int       // rows gathered
	x, y []float64 // scaled
	laws model.Laws
	hi   []float64 // of the losses
}

// reset makes room for n rows and drops gathered ones.
func (w *workspace) reset(n int) {
	w.n = 0
	if len(w.y) >= n {
		return
	}
	w.x, w.y = make([]float64, n*w.of.scale.inputs), make([]float64, n)
	w.laws, w.hi = model.NewLaws(n), make([]float64, n)
}

// gather adds rows [from, to) of a block, with their targets if it has them.
func (w *workspace) gather(b block, from, to int) {
	d := w.of.scale.inputs
	var y []float64
	if len(b.columns) >= len(w.of.scale.used) {
		y = w.y[w.n:]
	}
	w.of.scale.scale(b, from, to, w.x[w.n*d:], y)
	w.n += to - from
}

// column is the column of the mean in a block; nil: there is none.
func (w *workspace) column(b block) []float64 {
	if !w.of.scale.byColumn() {
		return nil
	}
	return b.columns[w.of.scale.used[len(w.of.scale.features)]]
}

// gatherRow replaces the gathered rows by one raw row without its target.
func (w *workspace) gatherRow(values []float64) {
	w.reset(1)
	for j := range w.of.scale.features {
		w.of.scale.put(w.x, j, values[j])
	}
	w.n = 1
}

// gatherScaled replaces the gathered rows by scaled ones.
func (w *workspace) gatherScaled(x, y []float64) {
	w.reset(len(y))
	copy(w.x, x)
	copy(w.y, y)
	w.n = len(y)
}

// predict returns the laws of predictions of the gathered rows. They are valid until the next call.
func (w *workspace) predict() (model.Laws, error) {
	laws := w.laws.Slice(0, w.n)
	return laws, w.of.predictor.PredictLaws(w.x[:w.n*w.of.scale.inputs], laws)
}

// scored has laws and losses of rows with targets.
type scored struct {
	y    []float64 // scaled targets
	laws model.Laws
	hi   []float64 // upper bounds on the expected loss of a draw of Q, or on the loss of a prediction
}

// score returns the losses of draws of the gathered rows. They are valid until the next call.
func (w *workspace) score() (scored, error) {
	s := scored{w.y[:w.n], w.laws.Slice(0, w.n), w.hi[:w.n]}
	return s, w.of.draws.PredictLoss(w.of.loss, w.of.accuracy, w.x[:w.n*w.of.scale.inputs], s.y, s.laws, s.hi)
}

// scoreMeans is score with the laws and losses of predictions.
func (w *workspace) scoreMeans() (scored, error) {
	s := scored{w.y[:w.n], w.laws.Slice(0, w.n), w.hi[:w.n]}
	return s, w.of.predictor.PredictMeanLoss(w.of.loss, w.of.accuracy, w.x[:w.n*w.of.scale.inputs], s.y, s.laws, s.hi)
}

// off is an upper bound but for rounding, in scaled units, on the distance from the target of row i to
// every prediction within the accuracy. It is +Inf if the prediction is not proven.
func (w *workspace) off(s scored, i int) float64 {
	m, y, err := s.laws.Mean[i], s.y[i], s.laws.MeanError[i]
	if !(err <= w.of.accuracy) {
		return math.Inf(1)
	}
	room := err + float64(6*0x1p-53*(math.Abs(m)+math.Abs(y))) // as of losses: docs/proofs.md, 10
	return math.Abs(m-y) + room + w.of.accuracy
}

// addError counts the error of the prediction at hold-out row i, in raw units, of every reader. It is
// beyond every tolerance without a proof.
func (w *workspace) addError(to *certify.Tally, s scored, i int) {
	const outwards = 1 + 0x1p-38
	to.AddError(w.off(s, i)*w.of.meta.Target.Scale*outwards, w.of.meta.Loss.Epsilon, s.hi[i] > 0)
}
