package model

import (
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// There are two ways from a row's kernel column k = k_Z(x) to the variance of f(x):
//
//	exact:  σ² − |φ|² + |Cᵀφ|²,  φ = L⁻¹k
//	fast:   σ² − ΣᵢDᵢ(Vk)ᵢ²,     V = UᵀL⁻¹,  UDUᵀ = I − CCᵀ
//
// with U upper triangular and D of plus and minus ones, all plus where Q is sharper than the prior in every
// direction. The exact path solves with one triangle and multiplies by another; the fast path multiplies by one
// triangle, in half the time. But V is as large as L⁻¹, and so are its rounding errors; and U can be large where D
// has minus ones. The mean is kᵀα, α = L⁻ᵀm, in both.

// exactPath computes the variance by the exact way.
type exactPath struct {
	variance float64            // of the kernel
	solve    *linalg.Solver     // by L
	spread   *linalg.Multiplier // by C
}

func newExactPath(pool *linalg.Pool, p *Posterior) *exactPath {
	m := p.Inducing()
	return &exactPath{p.Kernel.Variance, pool.NewSolver(view(p.L, m)), pool.NewMultiplier(view(p.Factor, m))}
}

func (w *exactPath) backwards() bool { return false }

// predict overwrites k with φ. The image of a row is |φ|².
func (w *exactPath) predict(k, t linalg.Mat, variance, image []float64) {
	w.solve.Solve(k)
	w.spread.Multiply(k, t)
	for i := range variance {
		phi, q := k.Row(i), t.Row(i)
		image[i] = linalg.Dot(phi, phi)
		variance[i] = w.variance - image[i] + linalg.Dot(q, q)
	}
}

// varianceError bounds the error of a row's variance. The computed φ solves (L + ΔL)φ = k + dk with |ΔL| ≤
// γ|L|, so that it is off by L⁻¹(dk − ΔLφ).
func (w *exactPath) varianceError(e *errorTerms, _, dk, image float64) float64 {
	phi := math.Sqrt(image) * outwards
	off := e.inverse * (dk + float64(gamma(e.m+8)*e.lower*phi))
	square := float64(off * (2*phi + off)) // ≥ the change of |φ|²
	q := float64(e.product * e.covFactor * phi)
	// |Cᵀφ| is at most the root of spread times |φ|.
	root := math.Sqrt(e.spread) * phi
	return (float64((1+e.spread)*square) + float64(q*(2*root+q)) + float64(gamma(e.m+8)*(e.sigma2+float64((1+e.spread)*image)))) * outwards
}

// fastPath computes the variance by the fast way. Its inducing points go from last to first: this makes its
// factor a lower triangle, and the product with a lower triangle multiplies by fewer zeros.
type fastPath struct {
	variance float64            // of the kernel
	root     *linalg.Multiplier // by Vᵀ, its rows and columns from last to first
	minus    []int              // where D is −1, from last to first
	size     float64            // ≥ |V|
	defect   float64            // ≥ σ²‖LᵀVᵀDVL − (I − CCᵀ)‖
}

// fastPivot is the least size of a pivot of UDUᵀ; a smaller one is raised to it.
const fastPivot = 0x1p-40

// newFastPath computes V, and bounds the effect of its rounding.
func newFastPath(pool *linalg.Pool, p *Posterior) *fastPath {
	m := p.Inducing()
	l := view(p.L, m)
	v, signs := fastRoot(pool, p)
	flip(v)
	f := &fastPath{variance: p.Kernel.Variance, root: pool.NewMultiplier(v), size: norm(v.Data)}
	flip(v)
	for i, s := range signs {
		if s < 0 {
			f.minus = append(f.minus, m-1-i)
		}
	}
	// B = VL is off by γ|V||L|. P = I − CCᵀ − BᵀDB is the rest.
	b, rest := linalg.NewMat(m, m), linalg.NewMat(m, m)
	pool.TrmmRightLower(l, v, b)
	for i := range signs {
		signs[i] = -signs[i]
	}
	pool.SyrkWeighted(signs, b, 0, rest)
	pool.Syrk(false, -1, view(p.Factor, m), 1, rest)
	for i := range m {
		rest.Row(i)[i]++
	}
	pool.Mirror(rest)
	product := productError(m)
	covFactor, bSize := norm(p.Factor), norm(b.Data)
	sizes := float64(covFactor*covFactor) + float64(bSize*bSize) + math.Sqrt(float64(m))
	defect := norm(rest.Data) + float64(2*product*sizes)
	// Where D has no minus, BᵀB = I − CCᵀ − P is at most 1 + |P|.
	if len(f.minus) == 0 {
		bSize = min(bSize, math.Sqrt(1+defect))
	}
	off := product * norm(absoluteProduct(pool, v, l, b).Data)
	f.defect = float64(p.Kernel.Variance*(defect+float64(off*(2*bSize+off)))) * outwards
	return f
}

// absoluteProduct overwrites v with |v| and returns |v||l| in dst.
func absoluteProduct(pool *linalg.Pool, v, l, dst linalg.Mat) linalg.Mat {
	size := linalg.NewMat(l.Rows, l.Cols)
	for i := range l.Rows {
		for j := range i + 1 {
			size.Row(i)[j] = math.Abs(l.Row(i)[j])
			v.Row(i)[j] = math.Abs(v.Row(i)[j])
		}
	}
	pool.TrmmRightLower(size, v, dst)
	return dst
}

// fastRoot returns V, lower triangular with zeros above, and D.
func fastRoot(pool *linalg.Pool, p *Posterior) (v linalg.Mat, signs []float64) {
	m := p.Inducing()
	a := linalg.NewMat(m, m)
	pool.Syrk(false, -1, view(p.Factor, m), 0, a)
	for i := range m {
		a.Row(i)[i]++
	}
	signs = make([]float64, m)
	flip(a)
	signedCholesky(pool, a, signs, linalg.NewMat(m, m))
	flip(a) // lower triangle: Uᵀ
	slices.Reverse(signs)
	for i := range m {
		clear(a.Row(i)[i+1:])
	}
	pool.TrsmRightLower(view(p.L, m), a)
	return a, signs
}

// flip mirrors the lower triangle of a at its antidiagonal.
func flip(a linalg.Mat) {
	m := a.Rows
	for i := range m {
		for j := range min(i+1, m-1-i) {
			x, y := &a.Row(i)[j], &a.Row(m - 1 - j)[m-1-i]
			*x, *y = *y, *x
		}
	}
}

// signedCholesky factors the symmetric a = l·diag(signs)·lᵀ, with signs of plus or minus one. It reads only the
// lower triangle of a and overwrites it with l; the rest of a is left in any state. There is no pivoting: l can
// be large unless a is positive definite. scratch is as large as a.
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

// signedCholeskyBlock is signedCholesky, computed row by row.
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
		if math.Abs(pivot) < fastPivot {
			row[i] = math.Sqrt(fastPivot)
		}
	}
}

func (f *fastPath) backwards() bool { return true }

// predict sets t to the rows Vk. The image of a row is |Vk|².
func (f *fastPath) predict(k, t linalg.Mat, variance, image []float64) {
	f.root.Multiply(k, t)
	for i := range variance {
		root, minus := t.Row(i), 0.0
		for _, j := range f.minus {
			minus += float64(root[j] * root[j])
		}
		image[i] = linalg.Dot(root, root)
		variance[i] = f.variance - image[i] + float64(2*minus)
	}
}

// varianceError bounds the error of a row's variance. Vk is off by γ|V|k from rounding and by |V|dk from k.
func (f *fastPath) varianceError(e *errorTerms, k, dk, image float64) float64 {
	root := math.Sqrt(image) * outwards
	off := (float64(e.product*k) + dk) * f.size
	return (f.defect + float64(off*(2*root+off)) + float64(gamma(e.m+8)*(e.sigma2+float64(3*image)))) * outwards
}
