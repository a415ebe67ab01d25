package model

import (
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// There are two ways from a row's kernel column k = k_Z(x) to the law of f(x):
//
//	whitened:  φ = L⁻¹k,  mean φᵀm,  variance σ² − |φ|² + |Cᵀφ|²
//	folded:    mean kᵀα,  variance σ² − ΣᵢDᵢ(Vk)ᵢ²,  α = L⁻ᵀm,  V = UᵀL⁻¹,  UDUᵀ = I − CCᵀ
//
// with U upper triangular and D of plus and minus ones, all plus where Q is sharper
// than the prior in every direction. The whitened way solves with one triangle and
// multiplies by another; the folded way multiplies by one and so takes half the
// time. But V is as large as L⁻¹, and so are its rounding errors; and U can be large
// where D has minus ones.

// whitened is the first way.
type whitened struct {
	posterior *Posterior
	solve     *linalg.Solver     // by L
	spread    *linalg.Multiplier // by C
}

func newWhitened(pool *linalg.Pool, p *Posterior) *whitened {
	m := p.Inducing()
	return &whitened{p, pool.NewSolver(square(p.L, m)), pool.NewMultiplier(false, square(p.Factor, m))}
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
	root     *linalg.Multiplier // by Vᵀ
	minus    []int              // where D is −1
	least    float64            // variances below are to be computed the whitened way
}

const (
	// foldedError is the rounding error of a folded variance, in units of
	// 2⁻⁵³·(σ² + ‖V‖·σ³) (Frobenius norm), for rows that few inducing points are near
	// and |(Vk)ᵢ| ≤ σ, as it is where D has no minus.
	foldedError = 32
	// foldedGrowth is that error where |(Vk)ᵢ| ≤ |uᵢ|σ is larger, uᵢ being column i of U,
	// in units of 2⁻⁵³·(σ²·maxᵢ|uᵢ|² + σ³·(Σᵢ|uᵢ|²|Vᵢ|²)^½).
	foldedGrowth = 4
	// foldedWorse is how much larger than at the inducing points the error may be
	// elsewhere: up to ten times was seen, where many points are as good as one.
	foldedWorse = 16
	// foldedShare is how large that error may be beside the variance. An expected
	// loss moves by less than half of it, 6e-8: less than a tenth of the slack, which
	// the audit allows; usual errors are a hundredth of that.
	foldedShare = 0x1p-23
	// foldedPivot is the least pivot of UDUᵀ: a smaller one is raised to it, which
	// moves a variance by so much times |φ|² ≤ σ².
	foldedPivot = 0x1p-40
)

// newFolded returns nil if so many variances would have to be computed again that
// the whitened way is better for all. Both ways are gone at some inducing points:
// for the variances there, which stand for those of rows, and for the error.
func newFolded(pool *linalg.Pool, p *Posterior, other *whitened) *folded {
	m, d := p.Inducing(), p.Dim()
	root, minus, off := foldedRoot(pool, p)
	sigma2 := p.Kernel.Variance
	f := &folded{variance: sigma2, alpha: slices.Clone(p.Mean), root: pool.NewMultiplier(true, root), minus: minus}
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

// foldedRoot returns V, lower triangular with zeros above, where D is −1, and an
// estimate of a variance's rounding error.
func foldedRoot(pool *linalg.Pool, p *Posterior) (v linalg.Mat, minus []int, off float64) {
	m := p.Inducing()
	a := linalg.NewMat(m, m)
	pool.Syrk(false, -1, square(p.Factor, m), 0, a)
	for i := range m {
		a.Row(i)[i]++
	}
	signs := make([]float64, m)
	flip(a)
	signedCholesky(pool, a, signs, linalg.NewMat(m, m))
	flip(a) // lower triangle: Uᵀ
	slices.Reverse(signs)
	lengths := make([]float64, m) // |uᵢ|²
	for i, s := range signs {
		if s < 0 {
			minus = append(minus, i)
		}
		u := a.Row(i)[:i+1]
		clear(a.Row(i)[i+1:])
		lengths[i] = linalg.Dot(u, u)
	}
	pool.TrsmRightLower(square(p.L, m), a)
	longest, grown, norm := 1.0, 0.0, 0.0
	for i, length := range lengths {
		v := linalg.Dot(a.Row(i), a.Row(i))
		longest, grown, norm = max(longest, length), grown+float64(length*v), norm+v
	}
	sigma2 := p.Kernel.Variance
	units := max(foldedError*(1+math.Sqrt(sigma2*norm)), foldedGrowth*(longest+math.Sqrt(sigma2*grown)))
	return a, minus, sigma2 * (float64(0x1p-53*units) + foldedPivot)
}

// flip mirrors the lower triangle of a at its other diagonal.
func flip(a linalg.Mat) {
	m := a.Rows
	for i := range m {
		for j := range min(i+1, m-1-i) {
			x, y := &a.Row(i)[j], &a.Row(m - 1 - j)[m-1-i]
			*x, *y = *y, *x
		}
	}
}

// signedCholesky overwrites the lower triangle of the symmetric a, of which no more
// is read, with l, and signs with plus or minus one, a = l·diag(signs)·lᵀ. The rest of
// a is left in any state. There is no pivoting: l can be large unless a is positive
// definite. scratch is as large as a.
//
//	X = A₂₁L₁₁⁻ᵀ,  L₂₁ = XD₁,  A₂₂ ← A₂₂ − XL₂₁ᵀ
func signedCholesky(pool *linalg.Pool, a linalg.Mat, signs []float64, scratch linalg.Mat) {
	m := a.Rows
	if m <= squareBlock {
		signedCholeskyBlock(a, signs)
		return
	}
	h := halve(m)
	a11, a21, a22 := quarters(a, h)
	x := scratch.Slice(0, m-h, 0, h)
	signedCholesky(pool, a11, signs[:h], scratch)
	pool.TrsmRightLowerTrans(a11, a21)
	copyMat(pool, x, a21)
	for i := range a21.Rows {
		row := a21.Row(i)
		for j, s := range signs[:h] {
			row[j] *= s
		}
	}
	pool.Gemm(false, true, -1, x, a21, 1, a22)
	signedCholesky(pool, a22, signs[h:], scratch)
}

// signedCholeskyBlock is signedCholesky row by row.
func signedCholeskyBlock(a linalg.Mat, signs []float64) {
	scaled := make([]float64, a.Rows) // row i of l·diag(signs)
	for i := range a.Rows {
		row := a.Row(i)
		for j := range i {
			scaled[j] = (row[j] - linalg.Dot(scaled[:j], a.Row(j)[:j])) / a.Row(j)[j]
			row[j] = signs[j] * scaled[j]
		}
		pivot := row[i] - linalg.Dot(scaled[:i], row[:i])
		signs[i] = math.Copysign(1, pivot)
		row[i] = math.Sqrt(math.Abs(pivot))
		if math.Abs(pivot) < foldedPivot {
			row[i] = math.Sqrt(foldedPivot)
		}
	}
}

// predict writes the rows' means and variances. t is scratch of k's size.
func (f *folded) predict(k, t linalg.Mat, mean, variance []float64) {
	f.root.Multiply(k, t)
	for i := range mean {
		root, minus := t.Row(i), 0.0
		for _, j := range f.minus {
			minus += float64(root[j] * root[j])
		}
		mean[i] = linalg.Dot(k.Row(i), f.alpha)
		variance[i] = f.variance - linalg.Dot(root, root) + float64(2*minus)
	}
}
