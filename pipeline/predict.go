package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	if columns, want := src.Columns(), m.Meta.featureNames(); len(columns) < len(want) || !slices.Equal(columns[:len(want)], want) {
		return fmt.Errorf("pipeline: the source has columns %q, the model wants %q", columns, want)
	}
	s, err := newScorer(m, workers)
	if err != nil {
		return err
	}
	defer s.close()
	w := workspace{of: s}
	var out []Prediction
	limits := readerLimits(m.Meta)
	return stream(ctx, src, nil, workers, func(b block) error {
		w.reset(b.rows)
		w.gather(b, 0, b.rows)
		laws, err := w.predict()
		if err != nil {
			return err
		}
		out = out[:0]
		for i := range b.rows {
			out = append(out, prediction(b, i, laws, m.Meta.Target, limits))
		}
		return use(out)
	})
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
