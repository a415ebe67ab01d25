package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// An evaluator computes an objective F of [Collapsed] and its gradient at one point. With c the weight of the
// risk of a row and c' that of the KL, the derivatives by the whitened posterior are
//
//	dF/dm = c Σgφ + c' m,  dF/dS = c Σwφφᵀ + ½c' I,  b = Σ φ y/D,
//	dF/db = S dF/dm,  dF/d(S⁻¹) = −S (dF/dS) S − ½(dF/db mᵀ + m (dF/db)ᵀ) + ½c' S
//
// where the last term comes from −½ ln det S. For an evidence dF/db = −m and dF/d(S⁻¹) = ½(S + mmᵀ) instead.
// Rows then add
//
//	dF/dφ = c g m + 2c w (S−I)φ + (y/D) dF/db + (2/D) dF/d(S⁻¹) φ − 2α D̄ φ
//
// and K_ZZ enters through X = Σ dF/dφ φᵀ as in [hyperGradient].
type evaluator struct {
	precision linalg.Mat // S⁻¹ − I = Σ φφᵀ/D, symmetric
	factor    linalg.Mat // lower: S⁻¹ = RRᵀ
	sMinus    linalg.Mat // S − I, symmetric
	mean      []float64  // m
	b         []float64  // Σ φ y/D
	byB       []float64  // dF/db
	byS, byA  linalg.Mat // dF/dS, dF/d(S⁻¹): symmetric
	work      linalg.Mat
	kl        float64
	value     float64
	byKL      float64 // c'
	gradient  hyperGradient
}

func newEvaluator(m, d, parameters int) evaluator {
	square := func() linalg.Mat { return linalg.NewMat(m, m) }
	return evaluator{
		precision: square(), factor: square(), sMinus: square(), byS: square(), byA: square(), work: square(),
		mean: make([]float64, m), b: make([]float64, m), byB: make([]float64, m),
		gradient: hyperGradient{theta: make([]float64, parameters), z: linalg.NewMat(m, d)},
	}
}

// prepare computes the kernel matrices and the noise of a point, for its first pass.
func (c *Collapsed) prepare(at parameters) error {
	f := c.fold
	if err := c.prior.set(at.theta, at.z); err != nil {
		return err
	}
	f.alpha, f.noise = c.cfg.Alpha, math.Exp(at.lnNoise)
	if c.stage == settling && c.cfg.PosteriorAlpha != nil {
		f.alpha = *c.cfg.PosteriorAlpha
	}
	if f.alpha > 0 || c.cfg.Objective == EvidenceBound {
		clear(f.bigQ.Data)
		addDiagonal(f.bigQ, 1)
		c.prior.white.solveBothSidesTrans(c.pool, f.bigQ)
	}
	return nil
}

// gathered computes the posterior after the first pass. For an evidence it also computes the objective and its
// derivatives.
func (c *Collapsed) gathered() error {
	e, f, white := &c.eval, c.fold, c.prior.white
	copyMat(c.pool, e.precision, f.precise)
	white.solveBothSides(c.pool, e.precision)
	copyMat(c.pool, e.factor, e.precision)
	m := e.factor.Rows
	addDiagonal(e.factor, 1)
	if !c.pool.Cholesky(e.factor) {
		return fmt.Errorf("model: factorize the precision of q (M=%d): %w", m, ErrNotPositiveDefinite)
	}
	invertLower(c.pool, e.factor, e.work)
	gramLower(c.pool, e.work, e.sMinus)
	c.pool.Mirror(e.sMinus)
	copy(e.b, f.moment)
	solveLower(white.l, e.b)
	copy(e.mean, e.b)
	solveLower(e.factor, e.mean)
	solveLowerTrans(e.factor, e.mean)
	lnDet, trace := 0.0, 0.0
	for i := range m {
		lnDet += 2 * math.Log(e.factor.Row(i)[i])
		trace += e.sMinus.Row(i)[i]
	}
	e.kl = 0.5 * (linalg.Dot(e.mean, e.mean) + trace - float64(m) + lnDet)
	if c.cfg.Objective.bounds() || c.stage == settling {
		addDiagonal(e.sMinus, -1)
		copyMat(c.pool, f.bigA, e.sMinus)
		white.solveBothSidesTrans(c.pool, f.bigA)
		copy(f.a, e.mean)
		solveLowerTrans(white.l, f.a)
		return nil
	}
	n := float64(c.cfg.N)
	e.value = 0.5 * (n*math.Log(2*math.Pi) + lnDet + f.lnNoise + f.fitted - linalg.Dot(e.b, e.mean))
	f.ofEvidence, f.ofTrace, f.weight, e.byKL = true, false, 0, 0
	for i := range m {
		e.byB[i] = -e.mean[i]
	}
	eachRow(c.pool, m, func(i int) {
		for j, s := range e.sMinus.Row(i) {
			e.byA.Row(i)[j] = 0.5 * (s + float64(e.mean[i]*e.mean[j]))
		}
	})
	addDiagonal(e.sMinus, -1)
	if c.cfg.Objective == EvidenceBound {
		f.ofTrace = true
		explained := 0.0 // Σ |φ|²
		for i := range m {
			explained += e.precision.Row(i)[i]
		}
		e.value += 0.5 * (f.rowWeight*float64(f.seen)*c.prior.variance/f.noise - explained)
		addDiagonal(e.byA, -0.5)
	}
	e.value /= n
	return nil
}

// addDiagonal adds v·I to a.
func addDiagonal(a linalg.Mat, v float64) {
	for i := range a.Rows {
		a.Row(i)[i] += v
	}
}

// measured computes the bound after the second pass, and its derivatives by the posterior.
func (c *Collapsed) measured(lnInverseWeight float64) {
	e, f, white := &c.eval, c.fold, c.prior.white
	n := float64(c.cfg.Examples)
	risk := f.risk / float64(f.seen)
	nats := e.kl + lnInverseWeight + math.Log(2*math.Sqrt(n)/c.cfg.Delta)
	bound, byRisk, byNats := c.cfg.Objective.value(risk, nats/n)
	c.last = Progress{Risk: risk, KL: e.kl, LnInverseWeight: lnInverseWeight, Bound: bound}
	if c.stage == settling {
		return
	}
	e.value = bound
	f.ofEvidence, f.ofTrace = false, false
	f.weight, e.byKL = byRisk/float64(f.seen), byNats/n
	solveLower(white.l, f.h)
	white.solveBothSides(c.pool, f.bigH)
	m := e.factor.Rows
	for i := range m {
		e.byB[i] = float64(f.weight*f.h[i]) + float64(e.byKL*e.mean[i])
	}
	solveLower(e.factor, e.byB)
	solveLowerTrans(e.factor, e.byB)
	// S B S is formed with S itself: sMinus holds S until the end of this function.
	addDiagonal(e.sMinus, 1)
	eachRow(c.pool, m, func(i int) {
		for j, h := range f.bigH.Row(i) {
			e.byS.Row(i)[j] = f.weight * h
		}
		e.byS.Row(i)[i] += 0.5 * e.byKL
	})
	c.pool.Gemm(false, false, 1, e.byS, e.sMinus, 0, e.work)
	c.pool.GemmLower(false, false, -1, e.sMinus, e.work, 0, e.byA)
	c.pool.Mirror(e.byA)
	eachRow(c.pool, m, func(i int) {
		for j, s := range e.sMinus.Row(i) {
			e.byA.Row(i)[j] += 0.5 * (float64(e.byKL*s) - float64(e.byB[i]*e.mean[j]) - float64(e.mean[i]*e.byB[j]))
		}
	})
	addDiagonal(e.sMinus, -1)
}

// value returns the objective for a risk and for e, the nats divided by N, with the derivatives by both.
func (o Objective) value(risk, e float64) (value, byRisk, byE float64) {
	if o == BoundPinsker {
		root := math.Sqrt(0.5 * e)
		return risk + root, 1, 0.25 / root
	}
	const least = 1e-12 // distance of the risk from 0 and 1, where the derivative is infinite
	q := max(least, min(1-least, risk))
	p := klInverse(q, e)
	if p >= 1 {
		return 1, 0, 0
	}
	byE = p * (1 - p) / (p - q)
	return p, (math.Log(p/(1-p)) - math.Log(q/(1-q))) * byE, byE
}

// prepull unwhitens the derivatives by b and S⁻¹ for the last pass.
func (c *Collapsed) prepull() {
	e, f, white := &c.eval, c.fold, c.prior.white
	copy(f.pullB, e.byB)
	solveLowerTrans(white.l, f.pullB)
	copyMat(c.pool, f.pullA, e.byA)
	white.solveBothSidesTrans(c.pool, f.pullA)
}

// pulled completes the gradient after the last pass. It forms half the lower triangle of X: see [hyperGradient].
func (c *Collapsed) pulled() evaluation {
	e, f, white := &c.eval, c.fold, c.prior.white
	c.pool.GemmLower(false, false, 1, e.byA, e.precision, 0, e.work)
	if f.weight != 0 {
		c.pool.GemmLower(false, false, f.weight, e.sMinus, f.bigH, 1, e.work)
	}
	for i := range e.work.Rows {
		row := e.work.Row(i)
		linalg.Axpy(0.5*e.byB[i], e.b[:i+1], row)
		if f.weight != 0 {
			linalg.Axpy(0.5*f.weight*e.mean[i], f.h[:i+1], row)
		}
	}
	if f.alpha > 0 {
		white.solveBothSides(c.pool, f.bigR)
		eachRow(c.pool, e.work.Rows, func(i int) { linalg.Axpy(1, f.bigR.Row(i)[:i+1], e.work.Row(i)) })
	}
	white.solveBothSidesTrans(c.pool, e.work)
	c.prior.gradient(f.columnSum, e.work, e.gradient)
	scale := 1.0
	if !c.cfg.Objective.bounds() {
		scale = 1 / float64(c.cfg.N)
	}
	for i := range e.gradient.theta {
		_, slope := c.cfg.Grids[i].lnInverseWeightAt(c.at.theta[i])
		e.gradient.theta[i] = scale*e.gradient.theta[i] + e.byKL*slope
	}
	for i := range e.gradient.z.Data {
		e.gradient.z.Data[i] *= scale
	}
	return c.flatten(c.point, e.value, e.gradient, scale*f.dNoise*f.noise)
}

var errOutOfOrder = errors.New("model: Begin, Add or End out of order")
