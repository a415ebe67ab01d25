package model

import (
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// The bounds here are proven in docs/explanation/theory.md, section 10. All lengths are Euclidean,
// all matrix norms Frobenius' unless said otherwise, and everything is in scaled units.
// They hold if L Lᵀ − K_ZZ is positive semi-definite, for then |φ(x)| ≤ σ at every x.

const (
	roundoff = 0x1p-53
	// outwards covers the rounding of the bounds themselves, which take a few operations on positive numbers each.
	outwards = 1 + 0x1p-30
	// tail is a further error of each kernel value, in units of σ².
	tail = 0x1p-400
	// dotTail bounds the roundings of a term of linalg.Dot and linalg.Sum in addition to those in its partial
	// sum, one of dotLanes.
	dotTail, dotLanes = 24, 16
	// productBlock is the number of terms that linalg's products add up in one chain.
	productBlock = 384
)

// gamma returns γ_n = nu/(1−nu), which bounds the relative error of n roundings.
func gamma(n float64) float64 { return n * roundoff / (1 - n*roundoff) * outwards }

// dotError returns γ for an inner product of m terms by linalg.Dot, and productError for one that is an element
// of a product of matrices.
func dotError(m int) float64 { return gamma(float64(m/dotLanes + dotTail)) }

func productError(m int) float64 {
	return gamma(float64(min(m, productBlock) + m/productBlock + 3))
}

// errorTerms are what the error bounds of all rows of a posterior share.
type errorTerms struct {
	m                float64
	sigma2, sigma    float64
	origin, invScale []float64

	alpha     []float64 // ≈ L⁻ᵀm
	length    float64   // |alpha|
	residual  float64   // ≥ σ|m − Lᵀ·alpha|
	stretch   float64   // distances are in lengthscales/√stretch
	far       float64   // greatest distance of an inducing point from the origin
	vanish    float64   // at a greater distance between row and point the kernel counts as 0
	perReach  float64   // error of a kernel value v, for each unit of √v and of distance
	perRoot   float64   // error of v, for each unit of √v
	perValue  float64   // error of v, for each unit of v
	dot       float64   // γ of Dot
	product   float64   // γ of a product
	inverse   float64   // ≥ ‖L⁻¹‖₂
	lower     float64   // ≥ |L|
	covFactor float64   // ≥ |C|
	spread    float64   // ≥ ‖C‖₂²
}

func newErrorTerms(pool *linalg.Pool, p *Posterior, origin, invScale []float64) errorTerms {
	m, d, proven := p.Inducing(), p.Dim(), p.Kernel.Family.Errors
	e := errorTerms{
		m: float64(m), sigma2: p.Kernel.Variance, sigma: math.Sqrt(p.Kernel.Variance) * outwards,
		origin: origin, invScale: invScale,
		stretch: p.Kernel.Family.Profile.Stretch, vanish: proven.Vanish,
		perReach: proven.Shift * 2.01 * roundoff,
		perRoot:  proven.Scale * (4.2 + proven.Root + float64(d+1)/2) * roundoff,
		perValue: proven.Last * roundoff,
		dot:      dotError(m), product: productError(m),
		// L Lᵀ ⪰ (j/2)·I if JitterCheck passes.
		inverse:   math.Sqrt(2/p.Jitter) * outwards,
		lower:     norm(p.L),
		covFactor: norm(p.Factor),
	}
	e.alpha, e.residual = unwhiten(p)
	e.residual *= e.sigma
	e.length = norm(e.alpha)
	for i := range m {
		e.far = max(e.far, e.distance(p.Z[i*d:(i+1)*d]))
	}
	s := linalg.NewMat(m, m)
	pool.Syrk(false, 1, view(p.Factor, m), 0, s)
	pool.Mirror(s)
	for i := range m {
		row := 0.0
		for _, v := range s.Row(i) {
			row += math.Abs(v)
		}
		e.spread = max(e.spread, row)
	}
	size := float64(e.covFactor * e.covFactor)
	e.spread = min(float64(e.spread*outwards)+float64(e.product*size*e.m), size) * outwards
	return e
}

// norm returns an upper bound on the length of x.
func norm(x []float64) float64 { return float64(math.Sqrt(linalg.Dot(x, x)) * outwards) }

// unwhiten returns α ≈ L⁻ᵀm and an upper bound on |m − Lᵀα|. Residuals are computed in doubleDouble numbers;
// the first one improves α.
func unwhiten(p *Posterior) (alpha []float64, residual float64) {
	m := p.Inducing()
	alpha = slices.Clone(p.Mean)
	solveLowerTrans(view(p.L, m), alpha)
	rest := make([]doubleDouble, m)
	for again := 0; ; again++ {
		for i, mean := range p.Mean {
			rest[i] = doubleDouble{hi: mean}
		}
		for i, a := range alpha {
			for j, l := range p.L[i*m : i*m+i+1] {
				rest[j] = rest[j].minus(doubleDouble{hi: a}.times(l))
			}
		}
		correction := make([]float64, m)
		for i := range rest {
			correction[i] = rest[i].hi
		}
		residual = norm(correction) + float64(0x1p-90*float64(m)*(norm(p.Mean)+float64(norm(p.L)*norm(alpha))))
		if again == 1 {
			return alpha, residual * outwards
		}
		solveLowerTrans(view(p.L, m), correction)
		for i, c := range correction {
			alpha[i] += c
		}
	}
}

// distance returns an upper bound on the distance of x from the origin, in lengthscales/√stretch. It is NaN if
// a coordinate overflows, because distances from x are then unknown.
func (e *errorTerms) distance(x []float64) float64 {
	sum := 0.0
	for j, v := range x {
		t := (v - e.origin[j]) * e.invScale[j]
		if math.IsInf(t, 0) {
			return math.NaN()
		}
		sum += float64(t * t)
	}
	return math.Sqrt(e.stretch*sum) * outwards
}

// kernelError returns an upper bound on the length of the error of a row's kernel column. Its arguments are
// upper bounds on the column's length, on the sum of its elements, and on the row's distance from the origin.
// The result is +Inf for a row that is too far away for the bound.
func (e *errorTerms) kernelError(k, sum, distance float64) float64 {
	// An inducing point farther from the origin than twice the row's distance plus vanish is farther than
	// vanish from the row, and its kernel value counts as 0.
	reach := distance + min(e.far, float64(2*distance)+e.vanish)
	if !(reach*roundoff <= 1e-3) {
		return math.Inf(1)
	}
	root := math.Sqrt(e.sigma2 * sum)
	return (float64(root*(float64(e.perReach*reach)+e.perRoot)) + float64(e.perValue*k) + float64(tail*e.sigma2*e.m)) * outwards
}

// meanError returns an upper bound on the error of kᵀα, for a kernel column of length k that is off by dk.
func (e *errorTerms) meanError(k, dk float64) float64 {
	return (float64((float64(e.dot*k)+dk)*e.length) + e.residual) * outwards
}
