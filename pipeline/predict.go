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
	Deviation float64 // standard deviation of f under Q, ≥ 0; noise is no part of it
	Reason    string  // if not empty, the row breaks the rules and has no prediction
}

// Predict predicts every row of a source, in order. The source's columns must
// be the model's features. A row that breaks the rules of the certificate, or
// for which the arithmetic overflows, has a reason and no numbers.
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
	var x, mean, variance []float64
	var out []Prediction
	_, err = stream(ctx, src, nil, workers, func(b block) error {
		if len(mean) < b.rows {
			x, mean, variance = make([]float64, b.rows*d), make([]float64, b.rows), make([]float64, b.rows)
			out = make([]Prediction, b.rows)
		}
		scale.scale(b, 0, b.rows, x, nil)
		if err := predictor.Predict(x[:b.rows*d], mean[:b.rows], variance[:b.rows]); err != nil {
			return err
		}
		for i := range b.rows {
			out[i] = prediction(b, i, mean[i], variance[i], m.Meta.Target)
		}
		return use(out[:b.rows])
	})
	return err
}

func prediction(b block, i int, mean, variance float64, target Affine) Prediction {
	p := Prediction{Ordinal: b.first + int64(i)}
	if b.reasons != nil && b.reasons.IsValid(i) {
		p.Reason = b.reasons.Value(i)
		return p
	}
	p.Mean = mean*target.Scale + target.Centre
	p.Deviation = math.Sqrt(max(0, variance)) * target.Scale
	if math.IsNaN(p.Mean+p.Deviation) || math.IsInf(p.Mean+p.Deviation, 0) {
		return Prediction{Ordinal: p.Ordinal, Reason: "the prediction is not a finite number"}
	}
	return p
}
