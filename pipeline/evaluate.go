package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// An Evaluation is the mean loss of a model on fresh rows: an estimate of what its
// certificate bounds.
type Evaluation struct {
	Rows    int64
	Draw    float64 // of a draw of Q
	Mean    float64 // of the mean of Q
	Squared float64 // mean squared error of the mean of Q, raw units
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
	shards := src.Shards()
	rows := rowPass{
		src: src, shards: shards, res: Resources{Workers: workers}, scorer: s,
		roles: Roles{Rows: rowsOf(src)}, // all are train rows
		of:    subject{shards: len(shards), columns: len(src.Columns())},
	}
	found, err := rows.read(ctx, indices(len(shards)))
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	draw, mean := found.tallies.Of(certify.PredictorDraw, certify.RoleTrain).Risk, found.tallies.Of(certify.PredictorMean, certify.RoleTrain).Risk
	n := draw.Count()
	if n == 0 {
		return e, fmt.Errorf("%w: no row to evaluate on", ErrData)
	}
	return Evaluation{Rows: n, Draw: draw.Upper(), Mean: mean.Upper(), Squared: found.squares() / float64(n)}, nil
}
