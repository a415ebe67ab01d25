package model

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// Estimate fits an exact Gaussian process with Gaussian noise to the first EstimateRows rows, by gradient
// ascent of the log evidence. The number of steps is fixed, because the evidence often has a plateau and rises
// again behind it. The ln lengthscales have a normal prior around their start, because few rows say little
// about many features. All logarithms stay within ±6. The result depends on the rows alone, not on workers.
func Estimate(rows Rows, family *kernel.Family, scales Scales, workers int) (Start, error) {
	if err := rows.Validate(); err != nil {
		return Start{}, err
	}
	if rows.Len() == 0 {
		return Start{}, fmt.Errorf("model: estimate of the hyper-parameters needs at least one row")
	}
	pool := linalg.NewPool(max(1, workers))
	defer pool.Close()
	return estimate(pool, rows.Slice(0, min(rows.Len(), EstimateRows)), 0, family, scales, func() {})
}

const (
	estimateSteps = 50
	estimateRate  = 0.15
	estimateEarly = 35   // first steps, which use only estimateFew rows if N is at least estimateAll
	estimateFew   = 500  // half of the rows: an eighth of the time
	estimateAll   = 5000 // training rows; with fewer, training is short anyway
	lnRange       = 6.0  // greatest size of a logarithm
	lnDeviation   = 2.0  // of the prior on ln lengthscales
)

// estimate is [Estimate] on all given rows, except that the first early steps use at most estimateFew of them.
// It calls stepped after each step.
func estimate(pool *linalg.Pool, rows Rows, early int, family *kernel.Family, scales Scales, stepped func()) (Start, error) {
	e := newEvidence(pool, rows.Slice(0, min(rows.Len(), estimateFew)), family, scales)
	theta := make([]float64, e.parameters+1)                    // the noise is last
	start := 0.5 * math.Log(float64(scales.features(rows.Dim))) // lengthscales at which scaled distances are about 1
	for i := range e.parameters - 1 {
		theta[i] = start
	}
	theta[e.parameters] = math.Log(0.1)
	opt := newAdam(len(theta))
	best, at := math.Inf(1), append([]float64(nil), theta...)
	gradient := make([]float64, len(theta))
	for step := range estimateSteps {
		if step == early {
			e, best = newEvidence(pool, rows, family, scales), math.Inf(1)
		}
		nll, ok := e.negativeLog(theta, gradient)
		if !ok {
			return Start{}, fmt.Errorf("model: kernel matrix of %d rows is not positive definite at ln θ = %v: %w", rows.Len(), theta, ErrNotPositiveDefinite)
		}
		for i := range e.parameters - 1 {
			off := (theta[i] - start) / lnDeviation
			nll += 0.5 * float64(off*off)
			gradient[i] += off / lnDeviation
		}
		if nll < best {
			best = nll
			copy(at, theta)
		}
		rate := estimateRate * (1 - 0.8*float64(step)/estimateSteps)
		opt.direction(gradient)
		for i := range theta {
			theta[i] = max(-lnRange, min(lnRange, theta[i]-rate*gradient[i]))
		}
		theta[e.parameters] = max(math.Log(1e-4), theta[e.parameters])
		stepped()
	}
	return Start{Theta: at[:e.parameters], LnNoise: at[e.parameters]}, nil
}

// evidence computes the negative log evidence of an exact Gaussian process, with its gradient.
type evidence struct {
	pool       *linalg.Pool
	profile    *linalg.Profile
	rows       Rows
	wide       []bool // [d]: inputs of which values are so far apart that sums of squares lose all other digits
	of         []int  // [d]: the index in θ of each input's lengthscale
	parameters int    // lengthscales and variance, without the noise
	invScale   []float64
	x          linalg.Mat // [n×d]
	origin     []float64  // [d]: of the kernel block
	ones       linalg.Mat // [n×(d+1)]: x and a column of ones
	k, l, w    linalg.Mat // [n×n]
	slope      linalg.Mat // [n×n]: slopes of k; k itself if they are its values
	pull       linalg.Mat // [n×n]: W∘slope; w itself if slopes are values
	total      linalg.Mat // [n×1]: row sums of W∘K
	gx         linalg.Mat // [n×(d+1)]: pull·ones
	alpha      []float64
}

func newEvidence(pool *linalg.Pool, rows Rows, family *kernel.Family, scales Scales) *evidence {
	n, d := rows.Len(), rows.Dim
	e := &evidence{
		pool: pool, profile: family.Profile, rows: rows, wide: make([]bool, d), of: scales.of(d), parameters: scales.lengthscales(d) + 1,
		invScale: make([]float64, d),
		x:        view(rows.X, d),
		ones:     withOnes(rows),
		k:        linalg.NewMat(n, n), l: linalg.NewMat(n, n), w: linalg.NewMat(n, n),
		gx:    linalg.NewMat(n, d+1),
		total: linalg.NewMat(n, 1),
		alpha: make([]float64, n),
	}
	for i, v := range rows.X {
		e.wide[i%d] = e.wide[i%d] || math.Abs(v) > farFactor
	}
	e.origin = medians(e.x)
	e.slope, e.pull = slopesOf(e.profile, e.k), slopesOf(e.profile, e.w)
	return e
}

// withOnes returns the features with a last column of ones, [n×(d+1)].
func withOnes(rows Rows) linalg.Mat {
	a := linalg.NewMat(rows.Len(), rows.Dim+1)
	for i := range rows.Len() {
		copy(a.Row(i), rows.Row(i))
		a.Row(i)[rows.Dim] = 1
	}
	return a
}

// negativeLog returns ½ yᵀK⁻¹y + ½ ln det K, and sets gradient to its derivatives in ln θ and ln noise, by way
// of the derivative in K, which is W = ½(K⁻¹ − ααᵀ). ok is false if K has no Cholesky factor.
func (e *evidence) negativeLog(theta, gradient []float64) (nll float64, ok bool) {
	n, d := e.rows.Len(), e.rows.Dim
	variance := math.Exp(theta[e.parameters-1])
	noise := math.Exp(theta[e.parameters])
	expandScales(theta, e.of, e.invScale)
	e.pool.Kernel(e.profile, e.x, e.x, e.origin, e.invScale, variance, e.k, e.slope)
	copy(e.l.Data, e.k.Data)
	for i := range n {
		e.l.Data[i*n+i] += noise + 1e-8*variance
	}
	if !e.pool.Cholesky(e.l) {
		return 0, false
	}
	copy(e.alpha, e.rows.Y)
	solveLower(e.l, e.alpha)
	nll = 0.5 * linalg.Dot(e.alpha, e.alpha)
	solveLowerTrans(e.l, e.alpha)
	for i := range n {
		nll += math.Log(e.l.Data[i*n+i])
	}
	invertLower(e.pool, e.l, e.w)
	gramLower(e.pool, e.w, e.l) // K⁻¹
	e.sensitivity(noise, gradient)

	clear(gradient[:e.parameters])
	e.pool.Gemm(false, false, 1, e.w, e.ones.Slice(0, n, d, d+1), 0, e.total)
	e.pool.Gemm(false, false, 1, e.pull, e.ones, 0, e.gx) // [G x, row sums of G]
	for i := range n {
		xi, gi := e.rows.Row(i), e.gx.Row(i)
		sum := gi[d]
		gradient[e.parameters-1] += e.total.Row(i)[0]
		for j, wide := range e.wide {
			// Σ_ii' G (x−x')² = 2 Σ_i x_i (x_i·ΣG − (Gx)_i), G symmetric.
			part := 2 * xi[j] * (xi[j]*sum - gi[j])
			if wide {
				part = 0
				for k, g := range e.pull.Row(i) {
					off := xi[j] - e.rows.Row(k)[j]
					part += float64(g * off * off)
				}
			}
			gradient[e.of[j]] += part * e.invScale[j] * e.invScale[j]
		}
	}
	return nll, true
}

// sensitivity overwrites w with W∘K and pull with G = W∘slope, from K⁻¹ in the lower triangle of l. It stores
// the noise's derivative in gradient.
func (e *evidence) sensitivity(noise float64, gradient []float64) {
	n := e.rows.Len()
	trace := 0.0
	for i := range n {
		trace += 0.5 * (e.l.Row(i)[i] - e.alpha[i]*e.alpha[i])
	}
	gradient[e.parameters] = trace * noise
	e.pool.For(n, func(i int) {
		w, pull, inverse, k, slope, a := e.w.Row(i), e.pull.Row(i), e.l.Row(i), e.k.Row(i), e.slope.Row(i), 0.5*e.alpha[i]
		for j := range i + 1 {
			t := 0.5*inverse[j] - float64(a*e.alpha[j])
			pull[j] = t * slope[j]
			w[j] = t * k[j]
		}
	})
	e.pool.Mirror(e.w)
	e.pool.Mirror(e.pull)
}
