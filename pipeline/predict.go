package pipeline

import (
	"context"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model"
)

// A Prediction is what a model says about one row, in raw units of the target.
type Prediction struct {
	Ordinal   int64
	Mean      float64 // of Q
	Deviation float64 // standard deviation of f under Q, ≥ 0; noise is no part of it. NaN: not known well enough
	Reason    string  // if not empty, the row breaks the rules and has no prediction
}

// Predict predicts every row of a source, in order. The source's columns must
// be the model's features. A row that breaks the rules of the certificate, or whose mean
// is not proven to be within the accuracy that the certificate asks of a reader, has a
// reason and no numbers. The model must be one that Verify accepts.
func Predict(ctx context.Context, src Source, m Model, workers int, use func([]Prediction) error) error {
	predictor, err := model.NewPredictor(m.Posterior, workers)
	if err != nil {
		return err
	}
	defer predictor.Close()
	d := len(m.Meta.Features)
	scale := scaler{features: m.Meta.Features, target: m.Meta.Target}
	for i, f := range m.Meta.Features {
		if columns := src.Columns(); i >= len(columns) || columns[i] != f.Name {
			return fmt.Errorf("pipeline: the source has columns %q, the model wants %q", columns, m.Meta.featureNames())
		}
		scale.used = append(scale.used, i)
	}
	var x []float64
	var laws model.Laws
	var out []Prediction
	limits := readerLimits(m.Meta)
	_, err = stream(ctx, src, nil, workers, func(b block) error {
		if len(out) < b.rows {
			x, laws, out = make([]float64, b.rows*d), model.NewLaws(b.rows), make([]Prediction, b.rows)
		}
		scale.scale(b, 0, b.rows, x, nil)
		if err := predictor.PredictLaws(x[:b.rows*d], laws.Slice(0, b.rows)); err != nil {
			return err
		}
		for i := range b.rows {
			out[i] = prediction(b, i, laws, m.Meta.Target, limits)
		}
		return use(out[:b.rows])
	})
	return err
}

// limits are what a conforming reader's numbers may be off by, in raw units
// (docs/format.md, 3): its mean, and the square of its deviation.
type limits struct{ mean, square float64 }

func readerLimits(meta ModelMeta) limits {
	tau := accuracy(meta.Loss, meta.Target)
	return limits{tau, tau * (tau / accuracyPart)}
}

func prediction(b block, i int, laws model.Laws, target Affine, most limits) Prediction {
	p := Prediction{Ordinal: b.first + int64(i)}
	if b.reasons != nil && b.reasons.IsValid(i) {
		p.Reason = b.reasons.Value(i)
		return p
	}
	p.Mean = laws.Mean[i]*target.Scale + target.Centre
	// Three operations round, each relative to what the mean is made of.
	rounding := 0x1p-51 * (math.Abs(p.Mean) + math.Abs(target.Centre))
	if !(laws.MeanError[i]*target.Scale+rounding <= most.mean) {
		return Prediction{Ordinal: p.Ordinal, Reason: "the prediction cannot be computed with the accuracy that the certificate asks for: the row lies too far from all rows that the model knows"}
	}
	p.Deviation = math.Sqrt(max(0, laws.Variance[i])) * target.Scale
	if off := laws.VarianceError[i]*target.Scale*target.Scale + 1e-15*p.Deviation*p.Deviation; !(off <= most.square) {
		p.Deviation = math.NaN()
	}
	return p
}
