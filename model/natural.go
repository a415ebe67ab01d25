package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// derive computes from the state what a sweep needs: K_ZZ, L, S−I, a, A and the KL.
func (t *Trainer) derive() error {
	s := t.sweep
	var prior, posterior error
	both(t.pool, func() { prior = t.derivePrior() }, func() { posterior = t.deriveCovariance() })
	if err := errors.Join(prior, posterior); err != nil {
		return err
	}
	copyMat(t.pool, s.bigA, t.sMinus)
	t.prior.white.solveBothSidesTrans(t.pool, s.bigA)
	copy(s.a, t.mean)
	solveLowerTrans(t.prior.white.l, s.a)
	return nil
}

// derivePrior computes K_ZZ and L, unless they belong to the present θ and Z already.
func (t *Trainer) derivePrior() error {
	if t.fresh {
		return nil
	}
	if err := t.prior.set(t.theta, t.z); err != nil {
		return err
	}
	t.fresh = true
	return nil
}

// deriveCovariance computes S−I and the KL.
func (t *Trainer) deriveCovariance() error {
	m := t.z.Rows
	if !t.factored {
		copyMat(t.pool, t.factor, t.precision)
		if !t.pool.Cholesky(t.factor) {
			return fmt.Errorf("model: factorize the precision of q (M=%d): %w", m, ErrNotPositiveDefinite)
		}
		t.factored = true
	}
	invertLower(t.pool, t.factor, t.work)
	gramLower(t.pool, t.work, t.sMinus)
	t.kl = -float64(m) + linalg.Dot(t.mean, t.mean)
	for i := range m {
		t.kl += t.sMinus.Row(i)[i] + 2*math.Log(t.factor.Row(i)[i])
		t.sMinus.Row(i)[i]--
	}
	t.kl *= 0.5
	t.pool.Mirror(t.sMinus)
	return nil
}

// whiten converts the sweep's sums over kernel columns, in place, into sums over features: h ← L⁻¹h, H ←
// L⁻¹HL⁻ᵀ, H symmetric.
func (t *Trainer) whiten() {
	s := t.sweep
	solveLower(t.prior.white.l, s.h)
	t.prior.white.solveBothSides(t.pool, s.bigH)
}

// naturalStep moves q along the natural gradient of J_b, by a rate r ≤ rate:
//
//	Λ ← (1−r)Λ + r(I + 2b ΣwφφᵀN/n),  m ← m − r S(m + b ΣgφN/n)
//
// with the new S. Negative curvature w may remain as long as Λ stays positive definite and the diagonal of its
// factor above pivotFloor. Otherwise, or if the step is not trusted, r is halved. That ends, since the old Λ is
// positive definite and the step shrinks with r. The sums must be whitened; scale is N/n.
//
// It changes Λ, and leaves the mean to moveMean, so that the gradient of θ and Z can be computed at the same
// time. It returns r, or 0 if no rate was usable.
func (t *Trainer) naturalStep(rate, scale float64) (taken float64) {
	const halvings = 12
	t.factored = false
	for range halvings {
		t.mixPrecision(rate, scale, t.factor)
		if t.pool.Cholesky(t.factor) && smallestDiagonal(t.factor) > pivotFloor {
			step := t.meanStep
			for i := range step {
				step[i] = t.mean[i] + t.weight*scale*t.sweep.h[i]
			}
			solveLower(t.factor, step)
			solveLowerTrans(t.factor, step)
			if 0.5*rate*rate*linalg.Dot(step, step) <= trusted+0.02*t.kl {
				t.mixPrecision(rate, scale, t.precision)
				t.pool.Mirror(t.precision)
				t.factored = true
				return rate
			}
		}
		rate /= 2
	}
	return 0
}

// moveMean moves the mean by rate times the step that naturalStep has computed.
func (t *Trainer) moveMean(rate float64) {
	if rate > 0 {
		linalg.Axpy(-rate, t.meanStep, t.mean)
	}
}

// mixPrecision sets the lower triangle of dst to that of (1−r)Λ + r(I + 2b ΣwφφᵀN/n).
func (t *Trainer) mixPrecision(rate, scale float64, dst linalg.Mat) {
	keep, gain := 1-rate, 2*rate*t.weight*scale
	eachRow(t.pool, dst.Rows, func(i int) {
		to, old, h := dst.Row(i), t.precision.Row(i), t.sweep.bigH.Row(i)
		for j := range i + 1 {
			to[j] = float64(keep*old[j]) + float64(gain*h[j])
		}
		to[i] += rate
	})
}

// trusted, in nats, and a fiftieth of the KL are the most that ½|step|² may be of a step of the mean, so that a
// quadratic model of the risk holds. Usual steps have a hundredth of this limit or less. Where negative curvature
// nearly cancels the positive, the length of Newton's step has no bound.
const trusted = 1

// pivotFloor keeps each posterior variance below 1/pivotFloor² times the prior variance.
const pivotFloor = 0.3

func smallestDiagonal(l linalg.Mat) float64 {
	least := math.Inf(1)
	for i := range l.Rows {
		least = min(least, l.Row(i)[i])
	}
	return least
}

// gradientInto sets dst to the derivatives of J_b by θ and Z. h and bigH are the whitened sums of the pass,
// scale is N/n, sMinusI is S−I, and work is M×M scratch.
func (t *Trainer) gradientInto(dst hyperGradient, scale float64, h []float64, bigH, sMinusI, work linalg.Mat) {
	t.pool.GemmLower(false, false, 1, sMinusI, bigH, 0, work)
	for i := range work.Rows {
		linalg.Axpy(0.5*t.mean[i], h[:i+1], work.Row(i))
	}
	t.prior.white.solveBothSidesTrans(t.pool, work)
	t.prior.gradient(t.sweep.columnSum, work, dst)
	weight := t.weight * scale
	for i := range dst.theta {
		_, slope := t.cfg.Grids[i].lnInverseWeightAt(t.theta[i])
		dst.theta[i] = weight*dst.theta[i] + slope
	}
	for i := range dst.z.Data {
		dst.z.Data[i] *= weight
	}
}
