package model

import (
	"cmp"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// Coarse to fine: if a quarter of the inducing points already carries most of the information, all but the last steps
// of the joint phase move only this quarter, at a sixteenth of the cost of a step, and there are twice as many of
// them. Then the other points are added, and the last steps move all. On the data sets pol and bike this halves the
// time, and the bound is the same or lower. Where a quarter carries less (kin8nm, kin40k), it would lead θ astray.
const (
	coarseQuarter = 4
	coarseLeast   = 400 // least number of inducing points: with fewer, training is short anyway
	coarseKL      = 0.8 // the start posterior of the quarter must have at least this part of the KL with all points
	fineSteps     = 6   // 1/fineSteps of the joint steps, the last ones, move all points
)

// startCoarse starts with a quarter of the inducing points, if that is worthwhile, and keeps all of them in later.
func (t *Trainer) startCoarse(rows Rows, theta []float64) error {
	if !t.mayStartCoarse(t.z.Rows) {
		return nil
	}
	fine := *t
	if err := t.startAt(fine.z.Rows/coarseQuarter, rows, theta); err != nil {
		return err
	}
	if starts := t.starts; t.last.KL < coarseKL*fine.last.KL {
		*t = fine
		t.starts = starts
		return nil
	}
	t.later, t.warning = fine.z, fine.warning
	t.refineAt = t.cfg.Plan.Coarse
	return nil
}

// mayStartCoarse reports whether a start with m inducing points may be replaced by one with a quarter of them.
func (t *Trainer) mayStartCoarse(m int) bool {
	return !t.cfg.ELBO && m >= cmp.Or(t.cfg.coarseLeast, coarseLeast) && t.cfg.Plan.Joint > fineSteps
}

// coarse reports whether training still has a quarter of the inducing points.
func (t *Trainer) coarse() bool { return t.later.Rows > 0 }

// fine returns the number of joint steps with all inducing points after coarse ones.
func (p Plan) fine() int { return p.Joint / fineSteps }

// refine adds inducing points up to the number of later: those of later with the largest variance given the
// present ones. The present points come first in L, and q of the new ones is their prior, so that the
// distribution of functions remains the same:
//
//	m' = (m, 0),  Λ' = diag(Λ, I)
func (t *Trainer) refine() error {
	added, err := t.largestResiduals()
	if err != nil {
		return err
	}
	old, running := t.state, t.running()
	from, m := old.z.Rows, old.later.Rows
	t.allocate(m)
	t.z = linalg.NewMat(m, t.cfg.Dim)
	copy(t.theta, old.theta)
	copy(t.frozen, old.frozen)
	copy(t.z.Data, old.z.Data)
	copy(t.mean, old.mean)
	for i := range m {
		if t.precision.Row(i)[i] = 1; i < from {
			copy(t.precision.Row(i), old.precision.Row(i))
		} else {
			copy(t.z.Row(i), old.later.Row(added[i-from]))
		}
	}
	t.later = linalg.Mat{}
	t.fresh, t.factored = false, false

	// Adam moves a new point as far as the others on average.
	t.optTheta, t.optZ.steps = old.optTheta, old.optZ.steps
	copy(t.optZ.mean, old.optZ.mean)
	usual := linalg.Sum(old.optZ.square) / float64(len(old.optZ.square))
	for i := range t.optZ.square {
		if t.optZ.square[i] = usual; i < len(old.optZ.square) {
			t.optZ.square[i] = old.optZ.square[i]
		}
	}

	copy(t.risks, old.risks)
	copy(t.squares, old.squares)
	copy(t.noises, old.noises)
	t.slowed, t.keepNegative, t.reached = old.slowed, old.keepNegative, old.reached
	t.refineAt, t.gainStep = t.step, t.step
	t.jointBound, t.best = running.value, running
	t.keepBest()
	return nil
}

// largestResiduals returns the indices of the points of later to add: those with the largest variance given the
// present inducing points.
func (t *Trainer) largestResiduals() ([]int, error) {
	if err := t.derivePrior(); err != nil {
		return nil, err
	}
	p, m := t.prior, t.z.Rows
	phi := linalg.NewMat(t.later.Rows, m)
	t.pool.Kernel(p.profile, t.later, t.z, p.origin, p.invScale, p.variance, phi, linalg.Mat{})
	t.pool.NewSolver(p.white.l).Solve(phi)
	indices, known := make([]int, phi.Rows), make([]float64, phi.Rows)
	for i := range indices {
		indices[i], known[i] = i, linalg.Dot(phi.Row(i), phi.Row(i))
	}
	slices.SortStableFunc(indices, func(i, j int) int { return cmp.Compare(known[i], known[j]) })
	return indices[:phi.Rows-m], nil
}
