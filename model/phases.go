package model

import (
	"cmp"
	"math"
	"slices"
)

// schedule gives the rates of a joint step.
type schedule struct{ natural, theta, z float64 }

// The rates of the joint phase were chosen on pol and kin40k. Faster moves of Z
// spoil the whitened q more than they gain; the ramp lets Adam find the
// direction before Z takes steps of full size.
const (
	naturalRate = 0.15
	naturalLast = 0.03
	thetaRate   = 0.04
	zRate       = 0.05 // lengthscales: the length of a step of one point, about
	zRateMost   = 0.03 // lengthscales a coordinate
	zRamp       = 10   // steps
	rateHold    = 0.3  // fraction of the phase with full rates
	rateLast    = 0.2  // of θ and Z, relative to the full ones
	settleRate  = 0.5
	settleGain  = 1e-3 // relative, of a pass that is worth another one
	riskDecay   = 0.7
	flatGain    = 1e-3
)

// schedule returns the rates of this step of the joint phase: constant for a
// while, then falling.
func (t *Trainer) schedule() schedule {
	fall := max(0, (t.progress()-rateHold)/(1-rateHold))
	slow := 1 - (1-rateLast)*fall
	return schedule{
		natural: naturalRate * math.Pow(naturalLast/naturalRate, fall) * t.slowed,
		theta:   thetaRate * slow * t.slowed,
		z:       min(zRateMost, zRate/math.Sqrt(float64(t.cfg.Dim))) * slow * t.slowed * min(1, float64(t.step)/zRamp),
	}
}

// endJoint updates q by a natural-gradient step, and θ and Z by Adam; or takes
// back the steps since the bound was lowest.
func (t *Trainer) endJoint() {
	scale := t.measure()
	if t.stepsDone == 1 {
		t.risk = t.last.Risk
	}
	t.risk = riskDecay*t.risk + (1-riskDecay)*t.last.Risk
	bound := pacBound(t.risk, t.kl+t.last.LnInverseWeight, t.rows(), t.cfg.Delta)
	if bound > rise*t.jointBound {
		t.restart()
	} else {
		if bound < t.jointBound {
			t.jointBound, t.jointRisk = bound, t.risk
			t.keepBest()
		}
		t.weight = riskWeight(t.risk, bound)
		rates := t.schedule()
		t.whiten()
		both(t.pool, func() {
			t.gradientInto(t.gradient, scale, t.sweep.h, t.sweep.bigH, t.sMinus, t.work)
		}, func() {
			rates.natural = t.naturalStep(rates.natural, scale)
		})
		t.moveMean(rates.natural)
		t.moveHyper(t.gradient, rates)
	}
	t.noticeFlat(bound)
	t.freeze()
	if t.step >= t.jointSteps() {
		t.toGrid()
	}
}

// noticeFlat ends the joint phase early if the running bound has ceased to
// fall: no fall of flatGain, relative, in a quarter of the phase. The rest of
// the schedule then takes windSteps steps, for with falling rates q comes nearer
// to its optimum than the noise of mini-batches let it so far.
func (t *Trainer) noticeFlat(bound float64) {
	switch {
	case t.flatAt > 0:
	case bound < t.gainBound*(1-flatGain):
		t.gainBound, t.gainStep = bound, t.step
	case t.step-t.gainStep >= t.cfg.Plan.flatSteps() && t.step+t.cfg.Plan.windSteps() < t.cfg.Plan.Joint:
		t.flatAt = t.step
	}
}

// flatSteps is how many steps without a gain are enough, and windSteps how many
// follow: a quarter of the phase within limits.
func (p Plan) flatSteps() int { return min(30, max(15, p.Joint/4)) }

func (p Plan) windSteps() int { return min(30, max(8, p.Joint/4)) }

// jointSteps returns the length of the joint phase as far as is known.
func (t *Trainer) jointSteps() int {
	if t.flatAt > 0 {
		return t.flatAt + t.cfg.Plan.windSteps()
	}
	return t.cfg.Plan.Joint
}

// progress returns how much of its schedule the joint phase has completed, in
// [0, 1].
func (t *Trainer) progress() float64 {
	if t.flatAt == 0 {
		return float64(t.step) / float64(t.cfg.Plan.Joint)
	}
	from := float64(t.flatAt) / float64(t.cfg.Plan.Joint)
	return from + (1-from)*float64(t.step-t.flatAt)/float64(t.cfg.Plan.windSteps())
}

// rise of the running bound over its least value, more than chance brings
// about: q has lost its way.
const rise = 1.15

// restart takes up the posterior of the lowest running bound again, goes on
// more slowly from there, and no longer with negative curvature: where the
// targets have heavy tails it can cancel the positive, and the step of the mean,
// which is Newton's, then knows no bounds. Each restart lets the bound rise a
// little further before the next, so that a lucky mini-batch is not returned
// to for ever.
func (t *Trainer) restart() {
	const slower, slowest, relief = 0.5, 0.05, 1.05
	t.takeBest()
	t.risk = t.jointRisk
	t.weight = riskWeight(t.risk, t.jointBound)
	t.jointBound *= relief
	t.keepNegative = 0
	t.slowed = max(slowest, slower*t.slowed)
}

// keepBest keeps the posterior, and takeBest takes it up again.
func (t *Trainer) keepBest() {
	copy(t.bestTheta, t.theta)
	copy(t.bestZ.Data, t.z.Data)
	copy(t.bestMean, t.mean)
	copy(t.bestLambda.Data, t.precision.Data)
}

func (t *Trainer) takeBest() {
	copy(t.theta, t.bestTheta)
	copy(t.z.Data, t.bestZ.Data)
	copy(t.mean, t.bestMean)
	copy(t.precision.Data, t.bestLambda.Data)
	t.fresh, t.factored = false, false
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
		if t.frozen[i] == 0 {
			t.theta[i] = t.cfg.Grids[i].clamp(t.theta[i] - rates.theta*step)
		}
	}
	t.fresh = false
}

// endSettle keeps the q that was swept if it is the best so far, and takes
// another natural-gradient step unless that has ceased to help: after a pass of
// little gain, or two in a row of none.
func (t *Trainer) endSettle() {
	scale := t.measure()
	previous := t.best.Bound
	flat := t.last.Bound > previous*(1-settleGain) && t.last.Bound < previous
	t.settleFailed++
	if t.last.Bound < previous {
		t.settleFailed = 0
		t.best = t.last
		t.keepBest()
	}
	if t.step >= t.settleSteps || flat || t.settleFailed >= 2 {
		t.last = t.best
		t.takeBest()
		t.phase = Settled
		return
	}
	if t.settleFailed > 0 {
		t.rate /= 2
	}
	t.weight = riskWeight(t.last.Risk, t.last.Bound)
	t.whiten()
	t.moveMean(t.naturalStep(t.rate, scale))
}

const (
	coarseStep = 0.05 // grids with larger steps are approached in stages
	gridStages = 6
)

// freeze puts parameters with coarse grids on their values in stages over the
// second half of the joint phase, those nearest to a value first, while the
// others and q make up for it.
func (t *Trainer) freeze() {
	stage := int(2 * (t.progress() - 0.5) * gridStages)
	if stage < 1 {
		return
	}
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
		g := t.cfg.Grids[i]
		return math.Abs(t.theta[i]-g.Value(g.Nearest(t.theta[i]))) / g.Step
	}
	slices.SortStableFunc(coarse, func(i, j int) int { return cmp.Compare(distance(i), distance(j)) })
	for _, i := range coarse[:min(len(coarse), (len(coarse)*stage+gridStages-1)/gridStages)] {
		t.roundToGrid(i)
		t.frozen[i] = 1
	}
}

func (t *Trainer) roundToGrid(i int) {
	g := t.cfg.Grids[i]
	t.theta[i] = g.Value(g.Nearest(t.theta[i]))
	t.fresh = false
}

// toGrid rounds θ and starts to settle. Whatever q learns from here on, it
// learns with the θ that is certified.
func (t *Trainer) toGrid() {
	for i := range t.theta {
		t.roundToGrid(i)
	}
	t.phase, t.step, t.rate = Settle, 0, settleRate
}
