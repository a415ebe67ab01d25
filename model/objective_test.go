package model

import (
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// With all rows as inducing points the posterior of the evidence bound is that of the exact
// process with the noise that it has learned.
func TestELBOAtAllRowsIsTheExactProcess(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		rows := testRows(60, 2, 21)
		c := testConfig(t, rows, true)
		c.ELBO, c.Kernel, c.Inducing, c.Plan = true, f, rows.Len(), Plan{Joint: -1, Settle: 100}
		tr := newTestTrainer(t, c, rows)
		noise, most := 0.0, math.Inf(1)
		drive(t, tr, rows, 1000, func() {
			if tr.phase == Covariance && noise == 0 { // the mean is found, and the bound may only fall
				noise, most = tr.last.squares, tr.last.Bound
			}
			if tr.phase == Settled && !(tr.last.Bound <= most) {
				t.Errorf("the covariance of q costs: the bound rises from %g to %g", most, tr.last.Bound)
			}
		})
		p, _, err := tr.Result()
		fatal.If(t, err)
		mean, _ := predict(t, p, 1, rows.X)

		n := rows.Len()
		k := linalg.NewMat(n, n)
		for i := range n {
			p.Kernel.Row(k.Row(i), rows.Row(i), rows.X)
		}
		noisy := linalg.NewMat(n, n)
		copy(noisy.Data, k.Data)
		for i := range n {
			noisy.Row(i)[i] += noise
		}
		pool := linalg.NewPool(1)
		defer pool.Close()
		if !pool.Cholesky(noisy) {
			t.Fatal("the exact process cannot be factorized")
		}
		alpha := append([]float64(nil), rows.Y...)
		solveLower(noisy, alpha)
		solveLowerTrans(noisy, alpha)
		for i := range n {
			if want := linalg.Dot(k.Row(i), alpha); !(math.Abs(mean[i]-want) <= 0.05*math.Sqrt(noise)) {
				t.Errorf("row %d: mean %g, of the exact process %g (noise %g)", i, mean[i], want, noise)
			}
		}
	})
}
