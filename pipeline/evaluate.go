package pipeline

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// Evaluate returns the mean losses of random draws from the posterior and of predictions, which a certificate bounds, and
// the mean squared error of predictions, in squared raw units. They are over all rows of a source, whose columns must be
// the model's inputs and then the target. Losses are upper bounds, as in a certificate.
func Evaluate(ctx context.Context, src dataset.Source, m pass.Model, workers int) (draw, mean, squared float64, err error) {
	if err := pass.SameColumns(src, m.Meta, job.Job{Mean: job.MeanDecl{Column: m.Meta.Mean}}, false); err != nil {
		return 0, 0, 0, err
	}
	s, err := pass.NewScorer(m, workers)
	if err != nil {
		return 0, 0, 0, err
	}
	defer s.Close()
	w := s.Workspace()
	var draws, means certify.RiskSum
	err = dataset.Stream(ctx, src, nil, workers, func(b dataset.Block) error {
		w.Reset(b.Rows)
		w.Gather(b, 0, b.Rows)
		if err := w.Score(); err != nil {
			return err
		}
		if err := w.AddTo(&draws); err != nil {
			return err
		}
		if err := w.ScoreMeans(); err != nil {
			return err
		}
		for i := range b.Rows {
			off := w.Residual(i) * m.Meta.Target.Scale
			squared += float64(off * off)
		}
		return w.AddTo(&means)
	})
	if err != nil {
		return 0, 0, 0, err
	}
	n := draws.Count()
	if n == 0 {
		return 0, 0, 0, fmt.Errorf("%w: no row to evaluate on", job.ErrData)
	}
	return draws.Upper(), means.Upper(), squared / float64(n), nil
}
