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
	// 2⁻⁵³·(σ² + ‖W‖·σ⁴) (Frobenius norm), for rows that few inducing points are near.
	foldedError = 32
	// foldedWorse is how much larger than at the inducing points the error may be
	// elsewhere: up to ten times was seen, where many points are as good as one.
	foldedWorse = 16
	// foldedShare is how large that error may be beside the variance. An expected
	// loss moves by less than half of it, 6e-8: less than a tenth of the slack, which
	// the audit allows; usual errors are a hundredth of that.
	foldedShare = 0x1p-23
)

// newFolded returns nil if so many variances would have to be computed again that
// the whitened way is better for all. Both ways are gone at some inducing points:
// for the variances there, which stand for those of rows, and for the error.
func newFolded(pool *linalg.Pool, p *Posterior, other *whitened) *folded {
	m, d := p.Inducing(), p.Dim()
	w := foldedForm(pool, p)
	sigma2 := p.Kernel.Variance
	off := foldedError * 0x1p-53 * sigma2 * (1 + sigma2*math.Sqrt(linalg.Dot(w.Data, w.Data)))
	for i := range m {
		row := w.Row(i)[:i]
		for j := range row {
			row[j] *= 2
		}
	}
	f := &folded{variance: sigma2, alpha: slices.Clone(p.Mean), form: pool.NewMultiplier(w)}
	solveLowerTrans(square(p.L, m), f.alpha)

	n := min(m, predictBlock)
	some, z := linalg.NewMat(n, d), linalg.Mat{Rows: m, Cols: d, Stride: d, Data: p.Z}
	for i := range n {
		copy(some.Row(i), z.Row(i*m/n))
	}
	k, t := linalg.NewMat(n, m), linalg.NewMat(n, m)
	mean, folded, variance := make([]float64, n), make([]float64, n), make([]float64, n)
	pool.SEKernel(some, z, p.inverseScales(), sigma2, k)
	f.predict(k, t, mean, folded)
	other.predict(k, t, mean, variance)
	for i, v := range variance {
		off = max(off, foldedWorse*math.Abs(folded[i]-v)) // NaN if one is
	}
	f.least = off / foldedShare
	slices.Sort(variance)
	if !(variance[n/2] >= f.least) {
		return nil
	}
	return f
}

// foldedForm returns W. It is solved for from both sides in full, and then made
// symmetric: what rounding does to a product with L⁻ᵀ and L⁻¹ is harmless in kᵀWk,
// for k = Lφ, but only if the whole of it is kept. (A congruence that computes one
// triangle errs by the square of L's condition: 1e-5 was seen in a variance.)
func foldedForm(pool *linalg.Pool, p *Posterior) linalg.Mat {
	m := p.Inducing()
	l, w := square(p.L, m), linalg.NewMat(m, m)
	pool.Syrk(false, -1, square(p.Factor, m), 0, w)
	for i := range m {
		w.Row(i)[i]++
	}
	pool.Mirror(w)
	pool.TrsmRightLower(l, w)
	pool.TrsmLeftLowerTrans(l, w)
	eachRow(pool, m, func(i int) {
		for j := range i {
			w.Row(i)[j] = 0.5 * (w.Row(i)[j] + w.Row(j)[i])
		}
	})
	pool.Mirror(w)
	return w
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
