package model

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// schedule has the rates of a joint step: of q, θ and Z.
type schedule struct{ natural, theta, z float64 }

// The rates of the joint phase were chosen on the data sets pol and kin40k. Faster moves of Z spoil the
// whitened q more than they gain. The ramp lets Adam find its direction before θ and Z take full steps. At a
// low last rate q would lag behind Z. With the evidence bound θ may move faster, because a natural-gradient
// step of full length finds the best q for it; more steps are needed, which become smaller. With few features,
// inducing points are close together in lengthscales, and Z moves less.
const (
	naturalRate = 0.2   // of q, at first
	naturalLast = 0.1   // of q, at the end
	thetaRate   = 0.08  // of the logarithms θ
	zRate       = 0.085 // length of a step of one point, roughly, in lengthscales
	zRateMost   = 0.03  // greatest step of one coordinate, in lengthscales
	ramp        = 10    // steps until θ and Z move at full rates
	rateHold    = 0.3   // part of the phase with full rates
	rateLast    = 0.2   // of θ and Z at the end, relative to the full rates
	flatGain    = 1e-3  // the bound is flat if it gains less than this part: see detectFlat

	evidenceNatural = 0.495
	evidenceLast    = 0.099
	evidenceTheta   = 0.08
	evidenceZ       = 0.1
	evidenceZMost   = 0.005 // times the features, at least four: greatest step of one coordinate, in lengthscales
	evidenceFlat    = 0.1   // factor of flatGain
	evidenceSlowest = 0.125 // least factor of all rates
)

// schedule returns the rates of the present joint step: constant for a while, then falling.
func (t *Trainer) schedule() schedule {
	root, features := math.Sqrt(float64(t.cfg.Dim)), float64(max(4, t.cfg.Dim))
	last := naturalLast
	s := schedule{natural: naturalRate, theta: thetaRate, z: min(zRateMost, zRate/root)}
	if t.cfg.ELBO {
		last = evidenceLast
		s = schedule{natural: evidenceNatural, theta: evidenceTheta, z: min(evidenceZMost*features, evidenceZ/root)}
	}
	fall := max(0, (t.progress()-rateHold)/(1-rateHold))
	slow := (1 - (1-rateLast)*fall) * t.slowed * min(1, float64(t.step)/ramp)
	s.natural *= math.Pow(last/s.natural, fall) * t.slowed
	s.theta *= slow
	s.z *= slow
	return s
}

// endJoint updates q by a natural-gradient step, and θ and Z by Adam. If the running value has risen too far,
// it restarts from the best state instead, but not before a window of passes is complete: until then the value
// is too noisy.
func (t *Trainer) endJoint() error {
	scale := t.measure()
	at := (t.step - 1) % len(t.risks)
	t.risks[at], t.squares[at], t.noises[at] = t.last.Risk, t.last.squares, t.last.noise*t.last.noise
	running := t.running()
	known := t.step >= len(t.risks)
	if known && t.step > ramp && t.off(running, -chance) > rise*t.jointBound {
		t.restart()
	} else {
		if known && running.value < t.jointBound {
			t.jointBound, t.best = running.value, running
			t.keepBest()
		}
		t.weigh(running)
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
	if known {
		t.reached = min(t.reached, running.value)
		t.detectFlat(running)
	}
	if t.coarse() && t.step >= t.refineAt {
		if err := t.refine(); err != nil {
			return err
		}
	}
	t.freeze()
	if t.step >= t.jointSteps() {
		t.toGrid()
	}
	return nil
}

// mostRisks bounds the number of passes in the running risk.
const mostRisks = 8

// window returns the number of passes in the running risk: an epoch, so that each row counts once and no mean
// is low by luck, but at most mostRisks.
func (p Plan) window(n int64) int {
	return int(min(mostRisks, (n+int64(p.Batch)-1)/int64(p.Batch)))
}

// running returns the means over the last joint passes, at most a window, with their bound and value.
func (t *Trainer) running() Progress {
	count := min(t.step, len(t.risks))
	n := float64(count)
	p := Progress{Risk: linalg.Sum(t.risks[:count]) / n, squares: linalg.Sum(t.squares[:count]) / n, noise: math.Sqrt(linalg.Sum(t.noises[:count])) / n, KL: t.last.KL, LnInverseWeight: t.last.LnInverseWeight}
	return t.valued(p)
}

// valued returns p with bound and value computed from its other numbers.
func (t *Trainer) valued(p Progress) Progress {
	p.Bound = pacBound(p.Risk, p.KL+p.LnInverseWeight, float64(t.cfg.Examples), t.cfg.Delta)
	p.value = t.value(p)
	return p
}

// off returns the value of a progress if its mean is off by so many standard errors.
func (t *Trainer) off(p Progress, errors float64) float64 {
	if t.byEvidence() {
		p.squares += errors * p.noise
	} else {
		p.Risk += errors * p.noise
	}
	return t.valued(p).value
}

// detectFlat ends the joint phase early if the running value no longer falls: by less than the part flatGain in
// 15 to 30 steps. For the evidence bound it first halves the rates a few times, because too large moves keep
// the bound from falling. The phase then ends after windSteps more steps: with falling rates q comes nearer to
// its optimum than the noise of mini-batches allowed before. Since a value may be low by luck, the next one is
// compared with a value one standard error above it.
func (t *Trainer) detectFlat(running Progress) {
	value := running.value
	gain := flatGain
	if t.cfg.ELBO {
		gain *= evidenceFlat
	}
	switch {
	case t.flatAt > 0:
	case value < t.gainBound*(1-gain):
		t.gainBound, t.gainStep = t.off(running, 1), t.step
	case t.step-t.gainStep < t.cfg.Plan.flatSteps():
	case t.coarse():
		t.refineAt = t.step
	case t.step+t.cfg.Plan.windSteps() >= t.jointSteps():
	case t.cfg.ELBO && t.slowed > evidenceSlowest:
		t.slowed /= 2
		t.gainBound, t.gainStep = value, t.step
	default:
		t.flatAt = t.step
	}
}

// flatSteps returns the number of steps without a gain after which the bound counts as flat. windSteps returns
// the number of steps that follow. Each is a quarter of the phase, within limits.
func (p Plan) flatSteps() int { return min(30, max(15, p.Joint/4)) }

func (p Plan) windSteps() int { return min(30, max(8, p.Joint/4)) }

// jointSteps returns the length of the joint phase in steps: the planned one, unless detectFlat has shortened it.
func (t *Trainer) jointSteps() int {
	switch {
	case t.flatAt > 0:
		return t.flatAt + t.cfg.Plan.windSteps()
	case t.refineAt > 0:
		return t.refineAt + t.cfg.Plan.fine()
	}
	return t.cfg.Plan.Joint
}

// progress returns the completed part of the schedule of the joint phase, in [0, 1]. In training from coarse to
// fine, the coarse steps run through the whole schedule, and the fine steps do so again.
func (t *Trainer) progress() float64 {
	from, steps := t.refineAt, t.cfg.Plan.fine()
	switch {
	case t.refineAt == 0:
		steps = t.cfg.Plan.Joint
	case t.coarse():
		from, steps = 0, t.refineAt
	}
	if t.flatAt == 0 {
		return float64(t.step-from) / float64(steps)
	}
	flat := float64(t.flatAt-from) / float64(steps)
	return flat + (1-flat)*float64(t.step-t.flatAt)/float64(t.cfg.Plan.windSteps())
}

// rise is the ratio of the running value to the lowest one above which training restarts. chance is the number
// of standard errors by which the value must exceed it.
const (
	rise   = 1.15
	chance = 4
)

// restart returns to the best state and continues more slowly, without negative curvature: with heavy tails it can
// cancel the positive one, and then Newton's step of the mean has no bounded length. Each restart lets the bound rise
// a little further before the next one, since otherwise a lucky mini-batch would cause restarts for ever.
func (t *Trainer) restart() {
	const slower, slowest, relief = 0.5, 0.05, 1.05
	t.restoreBest()
	for i := range t.frozen {
		if t.theta[i] != t.onGrid(i) {
			t.frozen[i] = 0
		}
	}
	for i := range t.risks {
		t.risks[i], t.squares[i] = t.best.Risk, t.best.squares
	}
	t.weigh(t.best)
	t.jointBound *= relief
	t.keepNegative = 0
	t.slowed = max(slowest, slower*t.slowed)
}

// keepBest copies the present θ, Z and q to the best ones, restoreBest copies them back, and swapBest exchanges them.
func (t *Trainer) keepBest() {
	copy(t.bestTheta, t.theta)
	copy(t.bestZ.Data, t.z.Data)
	copy(t.bestMean, t.mean)
	copy(t.bestLambda.Data, t.precision.Data)
}

func (t *Trainer) restoreBest() {
	copy(t.theta, t.bestTheta)
	copy(t.z.Data, t.bestZ.Data)
	copy(t.mean, t.bestMean)
	copy(t.precision.Data, t.bestLambda.Data)
	t.fresh, t.factored = false, false
}

func (t *Trainer) swapBest() {
	for _, pair := range [][2][]float64{{t.theta, t.bestTheta}, {t.z.Data, t.bestZ.Data}, {t.mean, t.bestMean}, {t.precision.Data, t.bestLambda.Data}} {
		for i, v := range pair[0] {
			pair[0][i], pair[1][i] = pair[1][i], v
		}
	}
	t.fresh, t.factored = false, false
}

// moveHyper moves θ and Z by a step of Adam, Z in units of lengthscales.
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
