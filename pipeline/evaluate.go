package pipeline

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// An Evaluation holds mean losses of a model on new rows. They estimate what its certificate bounds.
type Evaluation struct {
	Rows    int64
	Draw    float64 // of a random draw from the posterior
	Mean    float64 // of predictions
	Squared float64 // mean squared error of predictions, in squared raw units
}

// Evaluate returns the mean losses over all rows of a source, whose columns must be the model's inputs and then the
// target. Losses are upper bounds, as in a certificate.
func Evaluate(ctx context.Context, src dataset.Source, m pass.Model, workers int) (e Evaluation, err error) {
	if err := pass.SameColumns(src, m.Meta, job.Job{Mean: job.MeanDecl{Column: m.Meta.Mean}}, false); err != nil {
		return e, err
	}
	s, err := pass.NewScorer(m, workers)
	if err != nil {
		return e, err
	}
	defer s.Close()
	w := s.Workspace()
	var draw, mean certify.RiskSum
	err = dataset.Stream(ctx, src, nil, workers, func(b dataset.Block) error {
		w.Reset(b.Rows)
		w.Gather(b, 0, b.Rows)
		if err := w.Score(); err != nil {
			return err
		}
		if err := w.AddTo(&draw); err != nil {
			return err
		}
		if err := w.ScoreMeans(); err != nil {
			return err
		}
		for i := range b.Rows {
			_, mean, _ := w.Law(i)
			off := (s.Scale.TargetOf(b, i) - mean) * m.Meta.Target.Scale
			e.Squared += float64(off * off)
		}
		return w.AddTo(&mean)
	})
	if err != nil {
		return e, err
	}
	if e.Rows = draw.Count(); e.Rows == 0 {
		return e, fmt.Errorf("%w: no row to evaluate on", job.ErrData)
	}
	e.Draw, e.Mean, e.Squared = draw.Upper(), mean.Upper(), e.Squared/float64(e.Rows)
	return e, nil
}
