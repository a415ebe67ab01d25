package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

const (
	settleRate  = 0.5  // of the first natural-gradient step
	settleMore  = 1.5  // growth of the rate after a step that helped
	settleLess  = 0.7  // factor of a rate that failed: no later rate is above the product
	settleGain  = 2e-3 // a pass with less relative gain is flat
	settleFlats = 2    // so many flat passes in a row end the phase
	settleFails = 4    // so many halvings in a row without a gain end the phase
	harm        = 1.02 // putting θ on its grid should not raise the lowest running value by more than this factor
	wreck       = 1.2  // above this factor of the lowest running value there is a warning
)

// endSettle keeps the state of the pass if it is the best so far, and makes a natural-gradient step from it.
// From a worse state it goes half of the way back. The phase ends when neither helps.
//
// If putting θ on its grid has raised the value much, the state of the lowest running value is tried as well,
// and the better of the two is refined.
func (t *Trainer) endSettle() error {
	scale := t.measure()
	gain := 1 - t.last.value/t.best.value // 1 at first, when best is +Inf
	switch {
	case t.phase == Settle && t.step == 1 && t.step < t.settleSteps && t.last.value > harm*t.reached:
		t.best = t.last
		t.swapBest()
		return nil
	case gain >= 0:
		t.best, t.settleFailed = t.last, 0
		t.keepBest()
		t.settleFlat++
		if gain >= settleGain {
			t.settleFlat = 0
		}
	default:
		t.settleFailed++
	}
	if last := t.step >= t.settleSteps; last || t.settleFlat >= settleFlats || t.settleFailed >= settleFails {
		t.settled(last)
		return nil
	}
	if t.settleFailed > 0 {
		t.mostRate = min(t.mostRate, settleLess*t.rate)
		t.rate /= 2
		return t.halfway()
	}
	t.rate = min(t.mostRate, settleMore*t.rate)
	t.weigh(t.last)
	t.whiten()
	taken := t.naturalStep(t.rate, scale)
	if t.phase != Covariance {
		t.moveMean(taken)
	}
	return nil
}

// settled returns to the best state, and ends training or, for [Config.ELBO], starts the covariance phase.
func (t *Trainer) settled(last bool) {
	if t.phase == Settle && t.best.value > wreck*t.reached {
		t.warning = "training ends far above its lowest value, which it had before the hyper-parameters were put on their grid (hint: another number of inducing points, or another train.seed)"
	}
	t.last = t.best
	t.restoreBest()
	if t.cfg.ELBO && t.phase == Settle && !last {
		t.startCovariance()
	} else {
		t.phase = Settled
	}
}

// halfway halves the step from the best state. A natural-gradient step is a straight line in Λ and Λm, so that
// half a step is the mean of both ends in these. If θ or Z has changed, there was no such step, and the best
// state is restored.
func (t *Trainer) halfway() error {
	if !slices.Equal(t.theta, t.bestTheta) || !slices.Equal(t.z.Data, t.bestZ.Data) {
		t.restoreBest()
		return nil
	}
	m := t.meanStep
	eachRow(t.pool, len(m), func(i int) {
		p, best := t.precision.Row(i), t.bestLambda.Row(i)
		m[i] = 0.5 * (linalg.Dot(p, t.mean) + linalg.Dot(best, t.bestMean))
		for j, b := range best {
			p[j] = 0.5 * (p[j] + b)
		}
	})
	copyMat(t.pool, t.factor, t.precision)
	if t.factored = t.pool.Cholesky(t.factor); !t.factored {
		return fmt.Errorf("model: factorize the precision of q (M=%d): %w", len(m), ErrNotPositiveDefinite)
	}
	copy(t.mean, m)
	solveLower(t.factor, t.mean)
	solveLowerTrans(t.factor, t.mean)
	return nil
}

const (
	coarseStep = 0.05 // grids with larger steps are approached in stages
	gridStages = 6    // number of these stages
	// The stages end with the phase or, for the evidence bound, after this part of it.
	evidenceFrozen = 0.8
)

// freeze puts parameters with coarse grids on grid values, in stages from the middle of the joint phase on.
// Those nearest to a grid value come first, so that the others and q can adapt.
func (t *Trainer) freeze() {
	if t.coarse() {
		return
	}
	end := 1.0
	if t.cfg.ELBO {
		end = evidenceFrozen
	}
	stage := min(gridStages, int((t.progress()-0.5)/(end-0.5)*gridStages))
	if stage <= t.stage {
		return
	}
	t.stage = stage
	var coarse []int
	for i, g := range t.cfg.Grids {
		if g.Step > coarseStep {
			coarse = append(coarse, i)
		}
	}
	distance := func(i int) float64 {
		if t.frozen[i] == 1 {
			return -1
		}
		return math.Abs(t.theta[i]-t.onGrid(i)) / t.cfg.Grids[i].Step
	}
	slices.SortStableFunc(coarse, func(i, j int) int { return cmp.Compare(distance(i), distance(j)) })
	for _, i := range coarse[:min(len(coarse), (len(coarse)*stage+gridStages-1)/gridStages)] {
		t.frozen[i] = 1
	}
}

// onGrid returns the grid value nearest to hyper-parameter i.
func (t *Trainer) onGrid(i int) float64 {
	g := t.cfg.Grids[i]
	return g.Value(g.Nearest(t.theta[i]))
}

// toGrid starts the settle phase: from here on q is fitted with the θ of the certificate.
func (t *Trainer) toGrid() {
	t.phase, t.step, t.rate, t.mostRate, t.keepNegative = Settle, 0, settleRate, 1, 1
	t.best, t.later = Progress{value: math.Inf(1)}, linalg.Mat{}
	if !t.byEvidence() {
		t.likelihood = 0
	}
}

// round puts parameters on their grid: in the joint phase the frozen ones, after it all. The posterior remains
// the same distribution of functions as far as the new kernel allows. It keeps its mean at Z, and the part of
// its precision that comes from the rows:
//
//	m ← L'⁻¹K L⁻ᵀm,  Λ − I ← L'⁻¹K' L⁻ᵀ(Λ−I)L⁻¹ K'L'⁻ᵀ
//
// where K = k(Z, Z) without jitter, and ' marks the new θ. If Λ would not be positive definite, only a part of
// Λ − I is kept.
func (t *Trainer) round() error {
	to := slices.Clone(t.theta)
	for i := range to {
		if t.phase != Joint || t.frozen[i] == 1 {
			to[i] = t.onGrid(i)
		}
	}
	if slices.Equal(to, t.theta) {
		return nil
	}
	if err := t.derivePrior(); err != nil {
		return err
	}
	white, m := t.prior.white, len(t.mean)
	solveLowerTrans(white.l, t.mean)
	copy(t.meanStep, t.mean)
	eachRow(t.pool, m, func(i int) { t.mean[i] = linalg.Dot(t.prior.kuu.Row(i), t.meanStep) })
	copyMat(t.pool, t.work, t.precision)
	for i := range m {
		t.work.Row(i)[i]--
	}
	white.solveBothSidesTrans(t.pool, t.work)

	copy(t.theta, to)
	t.fresh = false
	if err := t.derivePrior(); err != nil {
		return err
	}
	solveLower(white.l, t.mean)
	t.pool.Gemm(false, false, 1, t.prior.kuu, t.work, 0, t.sMinus)
	t.pool.GemmLower(false, false, 1, t.sMinus, t.prior.kuu, 0, t.work)
	t.pool.Mirror(t.work)
	white.solveBothSides(t.pool, t.work)
	const halvings = 60
	part := 1.0
	for range halvings {
		eachRow(t.pool, m, func(i int) {
			p := t.precision.Row(i)
			for j, w := range t.work.Row(i) {
				p[j] = part * w
			}
			p[i]++
		})
		copyMat(t.pool, t.factor, t.precision)
		if t.factored = t.pool.Cholesky(t.factor) && smallestDiagonal(t.factor) > pivotFloor; t.factored {
			return nil
		}
		part /= 2
	}
	return fmt.Errorf("model: the precision of q at a rounded θ (M=%d): %w", m, ErrNotPositiveDefinite)
}
