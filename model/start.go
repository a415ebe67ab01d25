package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// stretch multiplies the estimated lengthscales, and shrink the estimated variance: the bound prefers smoother
// and smaller functions than the likelihood, for their smaller KL.
const (
	stretch = 1.25
	shrink  = 0.7
)

// noiseCandidates are standard deviations of the noise, in scaled units, whose posteriors are tried as start of
// q. The index usualNoise comes first.
var noiseCandidates = [...]float64{0.15, 0.3, 0.6, 1.2, 2.4}

const usualNoise = 2

// startValues sets θ to its estimate, and Z and q to start values for the configured number of inducing points
// or, if grow is set, for the number that Trainer.grow finds.
func (t *Trainer) startValues(rows Rows, grow bool) error {
	t.mostStarts = estimateSteps + len(noiseCandidates)
	var sizes []int
	if grow {
		sizes = Doublings(t.cfg.Inducing)
		t.mostStarts += len(sizes) * len(noiseCandidates) // with those above: all sizes, and the best one again
	}
	if t.mayStartCoarse(t.cfg.Inducing) {
		t.mostStarts += len(noiseCandidates)
	}
	rows = usualRows(rows)
	some := clipped(rows)
	early := estimateEarly
	if t.cfg.N < estimateAll {
		early = 0
	}
	e, err := estimate(t.pool, some.Slice(0, min(rows.Len(), t.cfg.Plan.EstimateRows)), early, t.cfg.Kernel, t.cfg.Scales, t.started)
	if err != nil {
		return err
	}
	theta := e.Theta
	for i, g := range t.cfg.Grids {
		switch {
		case t.byEvidence(): // the estimate has the same objective
		case i < len(theta)-1:
			theta[i] += math.Log(stretch)
		default:
			theta[i] += math.Log(shrink)
		}
		theta[i] = g.clamp(theta[i])
	}
	if grow {
		err = t.grow(sizes, rows, theta)
	} else {
		err = t.startAt(t.cfg.Inducing, rows, theta)
	}
	if err != nil {
		return err
	}
	return t.startCoarse(rows, theta)
}

// started counts an evaluation of start values, and reports it.
func (t *Trainer) started() {
	t.starts++
	if t.cfg.Starting != nil {
		t.cfg.Starting(t.starts, t.mostStarts)
	}
}

// Inducing points are doubled while that lowers the bound of the start posterior by a worthwhile gain. With too
// few points the trained bound loses about half of what the start bound loses.
const (
	fewestInducing = 30 // least number that is tried, unless the most is less
	mostDoublings  = 4
	worthwhile     = 0.002 // least gain of a doubling
	worthwhilePart = 0.02  // the same as a part of the bound; the smaller of the two counts
	patience       = 2     // doublings without a gain that end it: the first ones may have too few points to gain anything
)

// Doublings returns the numbers of inducing points that a trainer tries if it chooses their number: from a
// sixteenth of largest, or about 30 if that is more, up to largest.
func Doublings(largest int) []int {
	sizes := []int{largest}
	for len(sizes) <= mostDoublings && largest>>len(sizes) >= fewestInducing {
		sizes = slices.Insert(sizes, 0, largest>>len(sizes))
	}
	return sizes
}

// grow doubles the number of inducing points while that is worthwhile.
func (t *Trainer) grow(sizes []int, rows Rows, theta []float64) error {
	least, enough, without := math.Inf(1), 0, 0
	for _, m := range sizes {
		if without == patience {
			break
		}
		if err := t.startAt(m, rows, theta); err != nil {
			return err
		}
		without++
		if value := t.last.value; enough == 0 || least-value >= min(worthwhile, worthwhilePart*least) {
			least, enough, without = value, m, 0
		}
		if t.z.Rows < m {
			break // there are no more different rows
		}
	}
	if without == 0 {
		return nil
	}
	return t.startAt(enough, rows, theta)
}

// startAt sets Z to m k-means centres, and q to the posterior of a Gaussian likelihood (DTC) with the noise of
// the lowest estimated bound.
func (t *Trainer) startAt(m int, rows Rows, theta []float64) error {
	invScale := make([]float64, t.cfg.Dim)
	expandScales(theta, t.cfg.of(t.cfg.Dim), invScale)
	rng := rand.New(rand.NewPCG(t.cfg.Seed, 0x7061637367700001)) //nolint:gosec // reproducible by intent
	z := kmeans(t.pool, rows, invScale, m, rng.Perm)
	t.warning = fewerInducing(z.Rows, m)
	t.allocate(z.Rows)
	copy(t.theta, theta)
	t.z = z
	return t.startPosterior(rows)
}

// fewerInducing returns a warning if there are fewer inducing points than were asked for, else an empty text.
func fewerInducing(m, asked int) string {
	if m == asked {
		return ""
	}
	return fmt.Sprintf("%d inducing points instead of %d: there are no more different start rows", m, asked)
}

// startPosterior sets q to the posterior of a Gaussian likelihood with the best noise. It tries smaller
// candidates than the last best one while they lower the bound. If none does, it tries larger ones.
func (t *Trainer) startPosterior(rows Rows) error {
	m := t.z.Rows
	for i := range m {
		t.precision.Row(i)[i] = 1
	}
	if err := t.derive(); err != nil { // the features need L
		return err
	}
	gram, moment := linalg.NewMat(m, m), make([]float64, m)
	t.leastSquares(clipped(rows), gram, moment)
	some := rows.Slice(0, min(rows.Len(), boundRows))
	best, from := math.Inf(1), t.startNoise
	at, by := from, -1
	for at >= 0 && at < len(noiseCandidates) {
		sd := noiseCandidates[at]
		err := gaussianPosterior(t.pool, gram, moment, sd*sd, t.mean, t.precision, t.factor)
		if t.factored = err == nil; err != nil {
			return err
		}
		if err := t.derive(); err != nil {
			return err
		}
		t.estimateBound(some)
		t.started()
		lower := t.last.value < best
		if lower {
			best, t.startNoise = t.last.value, at
			t.best = t.last
			t.keepBest()
		}
		if !lower || at == 0 {
			if by > 0 || t.startNoise != from {
				break
			}
			at, by = from, 1
		}
		at += by
	}
	t.restoreBest()
	t.last = t.best
	t.best = Progress{value: math.Inf(1)}
	t.weigh(t.last)
	return nil
}

// clipped returns the rows with targets that are clamped at three times the spread of most targets from their
// median: squares of heavy tails would outweigh all others.
func clipped(rows Rows) Rows {
	const spreads = 3
	y := view(rows.Y, 1)
	low, middle, high := quantile(y, 0.1)[0], quantile(y, 0.5)[0], quantile(y, 0.9)[0]
	if low == high {
		return rows
	}
	at := slices.Clone(rows.Y)
	for i, v := range at {
		at[i] = max(middle-spreads*(high-low), min(middle+spreads*(high-low), v))
	}
	return Rows{X: rows.X, Y: at, Dim: rows.Dim}
}

// boundRows is the number of start rows on which the bound is estimated.
const boundRows = 4096

// estimateBound estimates the bound of q on some rows, and records it in last.
func (t *Trainer) estimateBound(some Rows) {
	t.sweep.reset(false)
	t.sweep.valueOnly = true
	t.sweep.add(some.X, some.Y)
	t.sweep.flush()
	t.sweep.valueOnly = false
	t.measure()
}

// gaussianPosterior sets mean and precision to those of the posterior of a Gaussian likelihood (DTC) with the
// noise σ_n²,
//
//	Λ = I + ΦᵀΦ/σ_n²,  m = S Φᵀy/σ_n²
//
// and factor to the Cholesky factor of Λ. gram is ΦᵀΦ and moment Φᵀy. It is an error if Λ has no factor.
func gaussianPosterior(pool *linalg.Pool, gram linalg.Mat, moment []float64, noise float64, mean []float64, precision, factor linalg.Mat) error {
	copy(mean, moment)
	for i := range mean {
		mean[i] /= noise
		p := precision.Row(i)
		for j, g := range gram.Row(i) {
			p[j] = g / noise
		}
		p[i]++
	}
	copy(factor.Data, precision.Data)
	if !pool.Cholesky(factor) {
		return fmt.Errorf("model: factorize the start posterior (M=%d, noise variance %g): %w", len(mean), noise, ErrNotPositiveDefinite)
	}
	solveLower(factor, mean)
	solveLowerTrans(factor, mean)
	return nil
}

// leastSquares adds ΦᵀΦ to gram and Φᵀy to moment, with whitened features Φ of the rows.
func (t *Trainer) leastSquares(rows Rows, gram linalg.Mat, moment []float64) {
	d, m := rows.Dim, t.z.Rows
	k, whiten := t.sweep.k, t.pool.NewSolver(t.prior.white.l)
	for from := 0; from < rows.Len(); from += sweepBlock {
		some := rows.Slice(from, min(rows.Len(), from+sweepBlock))
		x := view(some.X, d)
		phi := k.Slice(0, some.Len(), 0, m)
		t.pool.Kernel(t.sweep.profile, x, t.z, t.sweep.origin, t.sweep.invScale, t.sweep.variance, phi, linalg.Mat{})
		whiten.Solve(phi)
		t.pool.Syrk(true, 1, phi, 1, gram)
		t.pool.Gemm(true, false, 1, phi, view(some.Y, 1), 1, view(moment, 1))
	}
	t.pool.Mirror(gram)
}
