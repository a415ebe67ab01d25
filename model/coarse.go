package model

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// The joint phase of many inducing points begins with half of them: a step takes a fifth of the
// time, and θ moves as far. On pol, bike and kin8nm the bound is the same as with all points from
// the first step, on kin40k a percent higher, for seven tenths of the time.
const (
	coarseLeast = 200 // inducing points: with fewer a step is cheap
	coarsePart  = 0.4 // of the joint steps
)

// coarsen starts with half of the inducing points, and keeps all for later.
func (t *Trainer) coarsen(start Rows) error {
	if t.cfg.ELBO || t.z.Rows < coarseLeast || t.cfg.Plan.Joint == 0 {
		return nil
	}
	all, theta, warning := t.z, t.theta, t.warning
	if err := t.startAt(all.Rows/2, start, theta); err != nil {
		return err
	}
	t.later, t.warning = all, warning
	return nil
}

// refine adds the points of later that are farthest from those there. Its q is the same law of
// functions: a new point comes behind the old ones in the factor of K_ZZ, and its part of q is
// that of the prior.
func (t *Trainer) refine() {
	old := t.state
	m := old.z.Rows
	t.state.z = farthest(old.z, old.later, t.sweep.invScale)
	t.allocate(old.later.Rows)
	grown := t.state
	t.state = old
	t.later = linalg.Mat{}
	t.z, t.mean, t.precision, t.optZ = grown.z, grown.mean, grown.precision, grown.optZ
	t.bestZ, t.bestMean, t.bestLambda = grown.bestZ, grown.bestMean, grown.bestLambda
	copy(t.mean, old.mean)
	for i := range t.mean {
		if i < m {
			copy(t.precision.Row(i), old.precision.Row(i))
		} else {
			t.precision.Row(i)[i] = 1
		}
	}
	copy(t.optZ.mean, old.optZ.mean)
	copy(t.optZ.square, old.optZ.square)
	t.optZ.steps = old.optZ.steps
	t.best.value, t.jointBound, t.gainBound, t.gainStep, t.flatAt = math.Inf(1), math.Inf(1), math.Inf(1), t.step, 0
	t.fresh, t.factored = false, false
}

// farthest returns some points and then, up to as many as there are in all, one after another the
// point of all that is farthest from those before it, in lengthscales.
func farthest(some, all linalg.Mat, invScale []float64) linalg.Mat {
	out := linalg.NewMat(all.Rows, all.Cols)
	copy(out.Data, some.Data)
	distance := make([]float64, all.Rows)
	for i := range distance {
		distance[i] = math.Inf(1)
	}
	for at := range out.Rows {
		if at >= some.Rows {
			copy(out.Row(at), all.Row(largest(distance)))
		}
		for i := range distance {
			sum := 0.0
			for k, v := range all.Row(i) {
				off := (v - out.Row(at)[k]) * invScale[k]
				sum += float64(off * off)
			}
			distance[i] = min(distance[i], sum)
		}
	}
	return out
}

// largest returns the index of the largest value, the first of equals.
func largest(values []float64) int {
	at := 0
	for i, v := range values {
		if v > values[at] {
			at = i
		}
	}
	return at
}
