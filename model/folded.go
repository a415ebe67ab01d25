package model

import (
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// There are two ways from a row's kernel column k = k_Z(x) to the law of f(x):
//
//	whitened:  φ = L⁻¹k,  mean φᵀm,  variance σ² − |φ|² + |Cᵀφ|²
//	folded:    mean kᵀα,  variance σ² − kᵀWk,  α = L⁻ᵀm,  W = L⁻ᵀ(I − CCᵀ)L⁻¹
//
// The whitened way solves with one triangle and multiplies by another; the folded
// way multiplies by one, W being symmetric, and so takes half the time. But its
// terms are larger than their sum, and so are its rounding errors.

// whitened is the first way.
type whitened struct {
	posterior *Posterior
	solve     *linalg.Solver     // by L
	spread    *linalg.Multiplier // by C
}

func newWhitened(pool *linalg.Pool, p *Posterior) *whitened {
	m := p.Inducing()
	return &whitened{p, pool.NewSolver(square(p.L, m)), pool.NewMultiplier(square(p.Factor, m))}
}

// predict writes the rows' means and variances. k becomes φ; t is scratch of the
// same size.
func (w *whitened) predict(k, t linalg.Mat, mean, variance []float64) {
	w.solve.Solve(k)
	w.spread.Multiply(k, t)
	for i := range mean {
		phi, q := k.Row(i), t.Row(i)
		mean[i] = linalg.Dot(phi, w.posterior.Mean)
		variance[i] = w.posterior.Kernel.Variance - linalg.Dot(phi, phi) + linalg.Dot(q, q)
	}
}

// folded is the second way.
type folded struct {
	variance float64            // of the kernel
	alpha    []float64          // [M]
	form     *linalg.Multiplier // by T, lower triangular, kᵀTk = kᵀWk
	least    float64            // variances below are to be computed the whitened way
}

const (
	// foldedError is the rounding error of a folded variance, in units of
	// 2⁻⁵³·‖W‖·σ⁴ (Frobenius norm): a few were seen on trained models of
	// conditions up to 10⁸.
	foldedError = 32
	// foldedShare is how large that error may be beside the variance. An expected
	// loss moves by less than half of it, some 10⁻⁸: a hundredth of the slack.
	foldedShare = 0x1p-25
)

// newFolded returns nil if so many variances would have to be computed again that
// the whitened way is better for all. The variances at the inducing points, the
// squared rows of LC, stand for those of rows.
func newFolded(pool *linalg.Pool, p *Posterior) *folded {
	m := p.Inducing()
	l, c := square(p.L, m), square(p.Factor, m)
	w, scratch := linalg.NewMat(m, m), linalg.NewMat(m, m)
	pool.TrmmRightLower(c, l, scratch)
	at := make([]float64, m)
	for i := range m {
		at[i] = linalg.Dot(scratch.Row(i), scratch.Row(i))
	}
	slices.Sort(at)

	pool.Syrk(false, -1, c, 0, w)
	for i := range m {
		w.Row(i)[i]++
	}
	congruenceTrans(pool, l, w, scratch)
	sigma2 := p.Kernel.Variance
	norm := math.Sqrt(linalg.Dot(w.Data, w.Data))
	f := &folded{variance: sigma2, alpha: slices.Clone(p.Mean), least: foldedError / foldedShare * 0x1p-53 * norm * sigma2 * sigma2}
	if !(at[m/2] >= f.least) {
		return nil
	}
	for i := range m {
		row := w.Row(i)[:i]
		for j := range row {
			row[j] *= 2
		}
	}
	f.form = pool.NewMultiplier(w)
	solveLowerTrans(l, f.alpha)
	return f
}

// predict writes the rows' means and variances. t is scratch of k's size.
func (f *folded) predict(k, t linalg.Mat, mean, variance []float64) {
	f.form.Multiply(k, t)
	for i := range mean {
		row := k.Row(i)
		mean[i] = linalg.Dot(row, f.alpha)
		variance[i] = f.variance - linalg.Dot(row, t.Row(i))
	}
}
