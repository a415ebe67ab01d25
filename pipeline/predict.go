package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/inorder"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Prediction is a model's prediction of one row, in raw units of the target.
type Prediction struct {
	Ordinal   int64
	Mean      float64 // the prediction
	Deviation float64 // standard deviation of f, ≥ 0, without noise
	// PredictiveDeviation is the standard deviation of the target, with noise. It is NaN for random draws.
	PredictiveDeviation float64
	Reason              string // if not empty, the row breaks the rules and has no prediction
	Other               string // an encoded feature whose value is no level of the model, or ""
	Far                 bool   // whether a feature is more than [FarScales] of its scales from its centre

	// The next fields are set if the source has the target after the inputs.
	Labelled bool   // whether the row and its target satisfy the row rules
	Loss     uint64 // of the mean, as a certificate counts it, in units of 2⁻⁶⁰ ([certify.Units])
}

// FarScales is the distance of a feature from its centre, in scales, above which a row is far from the prior rows. Centre
// and scale are mean and deviation over the prior rows, unless they were declared (docs/reference/formats.md, 3).
const FarScales = 10

// Predict predicts every row of a source, and calls use with predictions in the order of the rows. The source's columns
// must be the model's inputs ([pass.ModelMeta.Inputs]), which the target may follow. A prediction has a Reason and no
// numbers if its row breaks a row rule, or if it is not proven to have the accuracy that the certificate asks for. The
// model must be one that [Verify] accepts.
func Predict(ctx context.Context, src dataset.Source, m pass.Model, workers int, use func([]Prediction) error) error {
	p, err := NewReady(m, workers)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Predict(ctx, src, nil, use)
}

// A Ready is a model that is ready to predict. It can be used for any number of sources, batches and rows.
type Ready struct {
	of      *pass.Scorer
	meta    pass.ModelMeta
	workers int
	spaces  sync.Pool // of *pass.Workspace
}

// NewReady makes a model ready to predict. Close the result after use.
func NewReady(m pass.Model, workers int) (*Ready, error) {
	s, err := pass.NewPredictionScorer(m, workers)
	if err != nil {
		return nil, err
	}
	return &Ready{of: s, meta: m.Meta, workers: workers}, nil
}

// Close frees the model's memory and workers.
func (p *Ready) Close() { p.of.Close() }

// Predict is [Predict] with this model for the shards of a source with the indices order, in this order, or for all shards
// if order is nil. Workers predict batches at the same time. use gets one batch after the other, each valid until use
// returns.
func (p *Ready) Predict(ctx context.Context, src dataset.Source, order []int, use func([]Prediction) error) error {
	if columns, want := src.Columns(), p.meta.Inputs(); len(columns) < len(want) || !slices.Equal(columns[:len(want)], want) {
		return fmt.Errorf("the source has the columns %s, the model wants %s", strings.Join(columns, ", "), strings.Join(want, ", "))
	}
	if err := p.meta.Means(src, false); err != nil {
		return err
	}
	var free sync.Pool // of *[]Prediction
	return inorder.Run(
		ctx, p.workers,
		func(ctx context.Context, hand func(dataset.Block) error) error {
			return dataset.Stream(ctx, src, order, p.workers, func(b dataset.Block) error {
				b.Retain()
				err := hand(b)
				if err != nil {
					b.Release()
				}
				return err
			})
		},
		func(_ context.Context, b dataset.Block) (*[]Prediction, error) {
			defer b.Release()
			out, ok := free.Get().(*[]Prediction)
			if !ok {
				out = new([]Prediction)
			}
			var err error
			*out, err = p.block(b, (*out)[:0])
			return out, err
		},
		func(_ context.Context, out *[]Prediction) error {
			defer free.Put(out)
			return use(*out)
		},
	)
}

// Batch appends the predictions of a batch's rows, with ordinals from 0, to out. The batch must be as from
// [dataset.Batches], with the model's inputs ([pass.ModelMeta.Inputs]) as its columns, which the target may follow. Several
// goroutines may call Batch.
func (p *Ready) Batch(record arrow.Record, out []Prediction) ([]Prediction, error) {
	b, err := dataset.ToBlock(record)
	if err != nil {
		return out, err
	}
	if want := len(p.meta.Inputs()); len(b.Columns) != want && len(b.Columns) != want+1 {
		return out, fmt.Errorf("a batch of %d columns, the model wants %d, and perhaps the target", len(b.Columns), want)
	}
	return p.block(b, out)
}

// Row predicts one row from the values of the model's inputs ([pass.ModelMeta.Inputs]), in their order and in raw units. It
// gives the same bits as [Ready.Batch]. If a value breaks a row rule, the prediction has a Reason; a wrong number of values
// is an error. Several goroutines may call Row, of which as many as there are workers compute at the same time.
func (p *Ready) Row(values []float64) (Prediction, error) {
	inputs := p.meta.Inputs()
	if len(values) != len(inputs) {
		return Prediction{}, fmt.Errorf("a row of %d values, the model wants %d", len(values), len(inputs))
	}
	var found Prediction
	for j, v := range values {
		if fault := dataset.FaultOf(v); fault != "" && !p.meta.Encode.Fills(inputs[j]) {
			found.Reason = dataset.AlsoWrong(found.Reason, inputs[j], fault)
		}
	}
	if found.Reason != "" {
		return found, nil
	}
	w := p.space()
	defer p.spaces.Put(w)
	w.GatherRow(values)
	if err := w.Predict(); err != nil {
		return found, err
	}
	found.fill(w, 0, p.meta)
	return found, nil
}

// space returns a free workspace. Put it back into spaces.
func (p *Ready) space() *pass.Workspace {
	if w, ok := p.spaces.Get().(*pass.Workspace); ok {
		return w
	}
	return p.of.Workspace()
}

// block appends the predictions of a block's rows. An encoded feature may have hundreds of inputs, so that the rows are
// computed in parts.
func (p *Ready) block(b dataset.Block, out []Prediction) (_ []Prediction, err error) {
	const inputs = 1 << 21 // of a part
	step := max(1, inputs/p.meta.Dim())
	for from := 0; from < b.Rows && err == nil; from += step {
		out, err = p.part(b, from, min(from+step, b.Rows), out)
	}
	return out, err
}

// part appends the predictions of rows [from, to) of a block.
func (p *Ready) part(b dataset.Block, from, to int, out []Prediction) ([]Prediction, error) {
	w := p.space()
	defer p.spaces.Put(w)
	w.Reset(to - from)
	w.Gather(b, from, to)
	labelled := p.of.Labelled(b)
	var err error
	if labelled {
		err = w.ScoreMeans()
	} else {
		err = w.Predict()
	}
	if err != nil {
		return out, err
	}
	var strict []int
	if b.Reasons != nil {
		inputs := p.meta.Inputs()
		strict = p.meta.Encode.Strict(inputs, dataset.Indices(len(inputs)))
	}
	for i := from; i < to; i++ {
		found := Prediction{Ordinal: b.First + int64(i)}
		good := b.Reasons == nil || b.Reasons.IsNull(i)
		if labelled && good {
			if found.Loss, err = certify.Units(w.Losses()[i-from]); err != nil {
				return out, err
			}
			found.Labelled = true
		}
		if !good && (!labelled || slices.ContainsFunc(strict, func(c int) bool { return job.Missing(b.Columns[c][i]) })) {
			found.Reason = b.Reasons.Value(i)
		} else {
			found.fill(w, i-from, p.meta)
		}
		out = append(out, found)
	}
	return out, nil
}

// fill sets the numbers of a prediction from row i of a workspace, or Reason if they are not accurate enough.
func (p *Prediction) fill(w *pass.Workspace, i int, meta pass.ModelMeta) {
	x, _, variance := w.Law(i)
	mean, accurate := w.Raw(i)
	if !accurate {
		p.Reason = "the prediction cannot be computed with the accuracy that the certificate asks for: the row lies too far from all rows that the model knows"
		return
	}
	p.Other = meta.Other(x)
	p.Far = slices.ContainsFunc(x, func(v float64) bool { return math.Abs(v) > FarScales })
	variance, noise := max(0, variance), float64(meta.Predictor.Factor*meta.Predictor.Noise)
	p.Mean, p.Deviation, p.PredictiveDeviation = mean, math.Sqrt(variance)*meta.Target.Scale, math.Sqrt(variance+noise)*meta.Target.Scale
	if meta.Predictor.Noise == 0 {
		p.PredictiveDeviation = math.NaN()
	}
}
