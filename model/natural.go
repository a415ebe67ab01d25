package model

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// derive computes from the state what a sweep needs: L, S−I, a, A and the KL.
func (t *Trainer) derive() error {
	m, s := t.z.Rows, t.sweep
	if !t.fresh {
		expandScales(t.theta, t.cfg.ARD, s.invScale)
		s.variance = t.variance()
		s.z = t.z
		t.pool.SEKernel(t.z, t.z, s.invScale, s.variance, t.kuu)
		copy(t.l.Data, t.kuu.Data)
		for i := range m {
			t.l.Row(i)[i] += t.cfg.Jitter * s.variance
		}
		if !t.pool.Cholesky(t.l) {
			return fmt.Errorf("model: factorize K_ZZ (M=%d, relative jitter %g): %w", m, t.cfg.Jitter, ErrNotPositiveDefinite)
		}
		t.fresh = true
	}
	copy(t.factor.Data, t.precision.Data)
	if !t.pool.Cholesky(t.factor) {
		return fmt.Errorf("model: factorize the precision of q (M=%d): %w", m, ErrNotPositiveDefinite)
	}
	invertLower(t.pool, t.factor, t.work)
	t.pool.Syrk(true, 1, t.work, 0, t.sMinus)
	t.kl = -float64(m) + linalg.Dot(t.mean, t.mean)
	for i := range m {
		t.kl += t.sMinus.Row(i)[i] + 2*math.Log(t.factor.Row(i)[i])
		t.sMinus.Row(i)[i]--
	}
	t.kl *= 0.5
	mirror(t.sMinus)

	copy(s.bigA.Data, t.sMinus.Data)
	t.pool.TrsmLeftLowerTrans(t.l, s.bigA)
	t.pool.TrsmRightLower(t.l, s.bigA)
	mirror(s.bigA)
	copy(s.a, t.mean)
	t.pool.TrsmLeftLowerTrans(t.l, column(s.a))
	return nil
}

// whiten turns the sweep's sums over kernel columns into sums over features:
// h ← L⁻¹h, H ← L⁻¹HL⁻ᵀ, in place, H symmetric.
func (t *Trainer) whiten() {
	s := t.sweep
	t.pool.TrsmLeftLower(t.l, column(s.h))
	mirror(s.bigH)
	t.pool.TrsmLeftLower(t.l, s.bigH)
	t.pool.TrsmRightLowerTrans(t.l, s.bigH)
	mirror(s.bigH)
}

// naturalStep moves q along the natural gradient of J_b, by a rate r ≤ rate:
//
//	Λ ← (1−r)Λ + r(I + 2b ΣwφφᵀN/n),  m ← m − r S(m + b ΣgφN/n)
//
// with the new S. Negative curvature w is kept as long as Λ stays positive
// definite and above floor·I on the diagonal of its factor; where it would
// not, r is halved, which ends since the old Λ is positive definite. The sums
// are whitened; scale is N/n.
func (t *Trainer) naturalStep(rate, scale float64) error {
	const halvings = 12
	m := t.z.Rows
	for range halvings {
		for i := range m {
			f, old, h := t.factor.Row(i), t.precision.Row(i), t.sweep.bigH.Row(i)
			for j := range i + 1 {
				f[j] = (1-rate)*old[j] + 2*rate*t.weight*scale*h[j]
			}
			f[i] += rate
		}
		copy(t.work.Data, t.factor.Data)
		if t.pool.Cholesky(t.factor) && smallestDiagonal(t.factor) > pivotFloor {
			copy(t.precision.Data, t.work.Data)
			mirror(t.precision)
			step := make([]float64, m)
			for i := range step {
				step[i] = t.mean[i] + t.weight*scale*t.sweep.h[i]
			}
			t.pool.TrsmLeftLower(t.factor, column(step))
			t.pool.TrsmLeftLowerTrans(t.factor, column(step))
			linalg.Axpy(-rate, step, t.mean)
			return nil
		}
		rate /= 2
	}
	return nil // a direction without a usable step: q stays
}

// pivotFloor keeps posterior variances below 1/pivotFloor² prior ones.
const pivotFloor = 0.3

func smallestDiagonal(l linalg.Mat) float64 {
	least := math.Inf(1)
	for i := range l.Rows {
		least = min(least, l.Row(i)[i])
	}
	return least
}

// schedule gives the rates of a joint step.
type schedule struct{ natural, theta, z float64 }

const (
	naturalRate = 0.2
	naturalLast = 0.05
	thetaRate   = 0.03
	zRate       = 0.012
	settleRate  = 0.3
	riskDecay   = 0.9
)

// schedule holds the rates for a third of the phase and then lowers them.
func (t *Trainer) schedule() schedule {
	const hold = 0.3
	at := float64(t.step) / float64(t.cfg.Plan.Joint)
	fall := max(0, (at-hold)/(1-hold))
	return schedule{
		natural: naturalRate * math.Pow(naturalLast/naturalRate, fall),
		theta:   thetaRate * (1 - 0.8*fall),
		z:       zRate * (1 - 0.8*fall),
	}
}

// endJoint updates q by a natural-gradient step, and θ and Z by Adam.
func (t *Trainer) endJoint() error {
	scale := t.measure()
	if t.stepsDone == 1 {
		t.risk = t.last.Risk
	}
	t.risk = riskDecay*t.risk + (1-riskDecay)*t.last.Risk
	t.weight = riskWeight(t.risk, pacBound(t.risk, t.kl+t.last.Price, float64(t.cfg.N), t.cfg.Delta))
	rates := t.schedule()
	t.whiten()
	dst := hyperGradient{theta: make([]float64, len(t.theta)), z: linalg.NewMat(t.z.Rows, t.cfg.Dim)}
	t.gradientInto(dst, scale, t.sweep.h, t.sweep.bigH, t.sMinus, t.work)
	if err := t.naturalStep(rates.natural, scale); err != nil {
		return err
	}
	t.moveHyper(dst, rates)
	if t.step >= t.cfg.Plan.Joint {
		t.toGrid()
	}
	return nil
}

// moveHyper takes the Adam step of θ and Z, Z's in units of lengthscales.
func (t *Trainer) moveHyper(g hyperGradient, rates schedule) {
	d := t.cfg.Dim
	for i := range g.z.Data { // derivative by z/l
		g.z.Data[i] /= t.sweep.invScale[i%d]
	}
	t.optZ.direction(g.z.Data)
	for i, step := range g.z.Data {
		t.z.Data[i] -= rates.z * step / t.sweep.invScale[i%d]
	}
	t.optTheta.direction(g.theta)
	for i, step := range g.theta {
		t.theta[i] = t.cfg.Grids[i].clamp(t.theta[i] - rates.theta*step)
	}
	t.fresh = false
}

// endSettle keeps the q that was swept if it is the best so far, and takes
// another natural-gradient step unless that has stopped to help.
func (t *Trainer) endSettle() error {
	const gain = 2e-4 // relative, of a pass that is worth another one
	scale := t.measure()
	previous := t.best.Bound
	if t.last.Bound < previous {
		t.best = t.last
		copy(t.bestMean, t.mean)
		copy(t.bestLambda.Data, t.precision.Data)
	}
	if t.last.Bound < previous*(1-gain) {
		t.settleFailed = 0
	} else {
		t.settleFailed++
		t.rate /= 2
	}
	if t.step >= t.cfg.Plan.Settle || t.settleFailed >= 2 {
		t.last = t.best
		copy(t.mean, t.bestMean)
		copy(t.precision.Data, t.bestLambda.Data)
		t.phase = Settled
		return nil
	}
	t.weight = riskWeight(t.last.Risk, t.last.Bound)
	t.whiten()
	return t.naturalStep(t.rate, scale)
}
