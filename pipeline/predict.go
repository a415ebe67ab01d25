package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/internal/inorder"
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
	p, err := NewReady(m, workers)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Predict(ctx, src, use)
}

// A Ready is a model that is ready to predict, from one source after another.
type Ready struct {
	of      *scorer
	workers int
	spaces  sync.Pool // of *workspace
}

// NewReady makes a model ready. Close it after use.
func NewReady(m Model, workers int) (*Ready, error) {
	s, err := newScorer(m, workers)
	if err != nil {
		return nil, err
	}
	return &Ready{of: s, workers: workers}, nil
}

// Close gives back what it has taken.
func (p *Ready) Close() { p.of.close() }

// Predict is [Predict] with this model. As many batches as there are workers are predicted
// at the same time, and use gets one after the other. What it gets is its own until it
// returns.
func (p *Ready) Predict(ctx context.Context, src Source, use func([]Prediction) error) error {
	if columns, want := src.Columns(), p.of.meta.FeatureNames(); len(columns) < len(want) || !slices.Equal(columns[:len(want)], want) {
		return fmt.Errorf("pipeline: the source has columns %q, the model wants %q", columns, want)
	}
	var free sync.Pool // of *[]Prediction
	return inorder.Run(
		ctx, p.workers,
		func(ctx context.Context, hand func(block) error) error {
			return stream(ctx, src, nil, p.workers, func(b block) error {
				b.record.Retain()
				err := hand(b)
				if err != nil {
					b.record.Release()
				}
				return err
			})
		},
		func(b block) (*[]Prediction, error) {
			defer b.record.Release()
			out, ok := free.Get().(*[]Prediction)
			if !ok {
				out = new([]Prediction)
			}
			var err error
			*out, err = p.block(b, (*out)[:0])
			return out, err
		},
		func(out *[]Prediction) error {
			defer free.Put(out)
			return use(*out)
		},
	)
}

// Batch appends the predictions of a record batch's rows, numbered from 0 on. It is one as
// [Batches] has it, of the model's features. Several goroutines may call it.
func (p *Ready) Batch(record arrow.Record, out []Prediction) ([]Prediction, error) {
	b, err := toBlock(record)
	if err != nil {
		return out, err
	}
	if len(b.columns) != len(p.of.meta.Features) {
		return out, fmt.Errorf("pipeline: a batch of %d columns, the model wants %d", len(b.columns), len(p.of.meta.Features))
	}
	return p.block(b, out)
}

// block appends the predictions of a block's rows.
func (p *Ready) block(b block, out []Prediction) ([]Prediction, error) {
	w, ok := p.spaces.Get().(*workspace)
	if !ok {
		w = &workspace{of: p.of}
	}
	defer p.spaces.Put(w)
	w.reset(b.rows)
	w.gather(b, 0, b.rows)
	laws, err := w.predict()
	if err != nil {
		return out, err
	}
	limits := readerLimits(p.of.meta)
	for i := range b.rows {
		out = append(out, prediction(b, i, laws, p.of.meta.Target, limits))
	}
	return out, nil
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
