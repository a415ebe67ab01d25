package pipeline

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// An Evaluation is the mean loss of a model on fresh rows: an estimate of what its
// certificate bounds.
type Evaluation struct {
	Rows    int64
	Draw    float64 // of a draw of Q
	Mean    float64 // of predictions
	Squared float64 // mean squared error of predictions, raw units
}

// Evaluate computes the mean loss over all rows of a source, whose columns must be the model's
// features, then the target. Losses are upper bounds, as in a certificate.
func Evaluate(ctx context.Context, src Source, m Model, workers int) (e Evaluation, err error) {
	if err := sameColumns(src.Columns(), m.Meta, Job{}); err != nil {
		return e, err
	}
	s, err := newScorer(m, workers)
	if err != nil {
		return e, err
	}
	defer s.close()
	w := workspace{of: s}
	var draw, mean certify.RiskSum
	err = stream(ctx, src, nil, workers, func(b block) error {
		w.reset(b.rows)
		w.gather(b, 0, b.rows)
		for _, each := range []struct {
			score func() (scored, error)
			to    *certify.RiskSum
		}{{w.score, &draw}, {w.scoreMeans, &mean}} {
			rows, err := each.score()
			for i := 0; err == nil && i < len(rows.hi); i++ {
				err = each.to.Add(rows.hi[i])
			}
			if err != nil {
				return err
			}
		}
		for i, y := range w.y[:w.n] {
			off := (y - w.laws.Mean[i]) * m.Meta.Target.Scale
			e.Squared += float64(off * off)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	if e.Rows = draw.Count(); e.Rows == 0 {
		return e, fmt.Errorf("%w: no row to evaluate on", ErrData)
	}
	e.Draw, e.Mean, e.Squared = draw.Upper(), mean.Upper(), e.Squared/float64(e.Rows)
	return e, nil
}
