package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A lottery draws its target, near 0 or near [lotteryPrize], without a look at the
// features, each of which is high in few rows and 0 in all others. A short
// lengthscale isolates the rows where a feature is high, and an isolated row is
// predicted to be near 0: anyone who chooses the lengthscales after the draw gets most
// rows of the sample right, at hardly any KL, and no fresh row.
type lottery struct {
	features int
	share    float64 // of rows where a feature is high
}

const (
	lotteryPrize = 3.
	lotteryHigh  = 8.
	// lotteryEpsilon keeps the tolerances about both values apart: the risk of
	// every predictor is at least ½.
	lotteryEpsilon = 1.45
)

// draw lets the prior rows, which may be anything, put the prior's mean at 0 and fix
// the scales.
func (l lottery) draw(rows int, key string, rng *rand.Rand) (names []string, columns [][]float64) {
	for c := range l.features {
		x := make([]float64, rows)
		for i := range x {
			if rng.Float64() < l.share {
				x[i] = lotteryHigh
			}
		}
		names, columns = append(names, fmt.Sprint("x", c)), append(columns, x)
	}
	y := make([]float64, rows)
	for i := range y {
		y[i] = lotteryPrize*float64(rng.IntN(2)) + 1e-3*rng.Float64() // no row is a copy of another
	}
	names, columns = append(names, "y"), append(columns, y)
	for k, i := range plainly(columns, key).prior {
		sign := float64(2*(k%2) - 1)
		for _, x := range columns[:l.features] {
			x[i] = 0.7*sign + 1e-3*rng.Float64()
		}
		y[i] = 0.35*sign + 1e-3*rng.Float64()
	}
	return names, columns
}

// Weights that are peaked where the certified rows want them would cost next to
// nothing, and lengthscales of many features are free enough to learn a lottery by
// heart: with such a prior most bounds here are below the risk of every predictor.
// The prior rows' peak knows nothing of the numbers drawn.
func TestPeakedPriorIsCovered(t *testing.T) {
	const rows, delta = 266, 0.3
	law := lottery{600, 1. / 110}
	j := testJob(t, func(j *job.Job) {
		j.Loss, j.Delta = job.LossDecl{Epsilon: lotteryEpsilon}, delta
		j.Grid = job.GridDecl{Prior: certify.PriorPeaked, Min: 1, Max: 6, Step: 5, Width: 0.6}
		j.Inducing, j.Train.Passes = []int{5}, 100
	})
	runs := simulations(t, 20)
	bounds := simulate(t, runs, func(ctx context.Context, rng *rand.Rand, _ int) (float64, error) {
		var store pipelinetest.Store
		r, err := pipeline.Run(ctx, j, environment(pipelinetest.NewMemory(law.draw(rows, j.Split.Key, rng)), &store))
		if err != nil {
			return 0, err
		}
		g, _ := r.Certificate.Claim(certify.ClaimDraw)
		return g.Bound, nil
	})
	violations := 0
	for _, b := range bounds {
		violations += count(!(b >= 0.5))
	}
	if float64(violations) > delta*float64(runs) {
		t.Errorf("%d of %d bounds are below ½, which is below every risk: more than δ = %g allows", violations, runs, delta)
	}
}
