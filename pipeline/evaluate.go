package pipeline

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// An Evaluation is the mean loss of a model on rows that no certificate speaks
// of: an estimate of what the certificate bounds, where fresh rows are to be had.
type Evaluation struct {
	Rows    int64
	Draw    float64 // of a draw of Q
	Mean    float64 // of the mean of Q
	Squared float64 // mean squared error of the mean of Q, raw units
}

// Evaluate computes the mean loss over all rows of a source, whose columns must
// be the model's features and target.
func Evaluate(ctx context.Context, src Source, m Model, workers int) (Evaluation, error) {
	if err := sameColumns(src.Columns(), m.Meta); err != nil {
		return Evaluation{}, err
	}
	l, err := scaledLoss(m.Meta.Loss, m.Meta.Target)
	if err != nil {
		return Evaluation{}, err
	}
	predictor, err := model.NewPredictor(m.Posterior, workers)
	if err != nil {
		return Evaluation{}, err
	}
	defer predictor.Close()
	d := len(m.Meta.Features)
	scale := scaler{features: m.Meta.Features, target: m.Meta.Target}
	for i := range d + 1 {
		scale.used = append(scale.used, i)
	}
	var draw, mean certify.RiskSum
	var squares float64
	var x, y, mu, variance []float64
	_, err = stream(ctx, src, nil, workers, func(b block) error {
		if len(y) < b.rows {
			x, y = make([]float64, b.rows*d), make([]float64, b.rows)
			mu, variance = make([]float64, b.rows), make([]float64, b.rows)
		}
		scale.scale(b, 0, b.rows, x, y)
		if err := predictor.Predict(x[:b.rows*d], mu[:b.rows], variance[:b.rows]); err != nil {
			return err
		}
		for i := range b.rows {
			if err := draw.Add(l.Expected(y[i], mu[i], variance[i])); err != nil {
				return fmt.Errorf("pipeline: row %d: %w", b.first+int64(i), err)
			}
			if err := mean.Add(l.Point(y[i], mu[i])); err != nil {
				return fmt.Errorf("pipeline: row %d: %w", b.first+int64(i), err)
			}
			residual := (y[i] - mu[i]) * m.Meta.Target.Scale
			squares += residual * residual
		}
		return nil
	})
	if err != nil {
		return Evaluation{}, err
	}
	n := draw.Count()
	if n == 0 {
		return Evaluation{}, fmt.Errorf("%w: no row to evaluate on", ErrData)
	}
	return Evaluation{Rows: n, Draw: draw.Upper(), Mean: mean.Upper(), Squared: squares / float64(n)}, nil
}
