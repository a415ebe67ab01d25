package model

import (
	"cmp"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// Coarse to fine: where a quarter of the inducing points already carries most of the information,
// the joint phase makes its first steps, all but a few, with them, at a sixteenth of the cost a step.
// The others are added then, and the last steps move all. With pol and bike that is half of the
// time, at about the same bound. Where a quarter carries less (kin8nm, kin40k), it would lead θ away.
const (
	coarseQuarter = 4
	coarseLeast   = 400 // inducing points: with fewer the whole time is short
	coarseKL      = 0.8 // the part of the start posterior's information that the quarter must carry
	fineSteps     = 6   // the last steps are this part of the joint phase, one divided by it
)

// startCoarse keeps the inducing points for later and starts with a quarter of them, if that is worthwhile.
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
	t.refineAt = t.cfg.Plan.Joint - t.fineSteps()
	return nil
}

// mayStartCoarse reports whether m inducing points may be trained from coarse to fine.
func (t *Trainer) mayStartCoarse(m int) bool {
	return !t.cfg.ELBO && m >= cmp.Or(t.cfg.coarseLeast, coarseLeast) && t.cfg.Plan.Joint > fineSteps
}

// coarse reports whether there are inducing points to add.
func (t *Trainer) coarse() bool { return t.later.Rows > 0 }

// fineSteps is the number of steps with all inducing points after those with a quarter.
func (t *Trainer) fineSteps() int { return t.cfg.Plan.Joint / fineSteps }

// refine adds inducing points, those of later with the largest variance given the present ones. As these come
// first in L, and q of the others is their prior, the law of functions remains the same:
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

	// The new points move as the others do on average.
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

// largestResiduals returns the indices of the points of later that are added: those with the largest
// variance given the inducing points.
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
