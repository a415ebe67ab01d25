package model

import "math"

const leastNoise = 1e-6

// byEvidence reports whether the present phase minimises the evidence bound.
func (t *Trainer) byEvidence() bool { return t.cfg.ELBO && t.phase != Covariance }

// value returns what the present phase minimises: the bound, or the exponential of the evidence bound for one
// row, without constants.
func (t *Trainer) value(p Progress) float64 {
	if t.byEvidence() {
		return math.Sqrt(max(leastNoise, p.squares)) * math.Exp((p.KL+p.LnInverseWeight)/float64(t.cfg.N))
	}
	return p.Bound
}

// squared is the exponent of squared errors in the joint phase. While θ and Z move, squared errors count in addition
// to the losses: what falls is the bound of risk·squares^(squared/2). The losses alone cannot distinguish an exact
// prediction from one that is just within the tolerance, and predictions would suffer. The last steps of q are by the
// bound alone. Of values from 0.3 to 1 this one gains most for at most a few percent of the bound.
const squared = 0.5

// weigh sets weight, the price of a unit of loss in nats, and likelihood, the price of E(f−y)²/2 in units of loss.
func (t *Trainer) weigh(p Progress) {
	squares := max(leastNoise, p.squares)
	if t.byEvidence() {
		t.weight, t.likelihood = 1, 1/squares
		return
	}
	t.weight, t.likelihood = riskWeight(p.Risk, p.Bound), 0
	if t.phase == Joint {
		t.likelihood = squared * p.Risk / squares
	}
}

// startCovariance starts the covariance phase from the settled state.
func (t *Trainer) startCovariance() {
	t.phase, t.step, t.settleSteps = Covariance, 0, t.cfg.Plan.Settle
	t.settleFlat, t.settleFailed = 0, 0
	t.best.value = t.value(t.best)
	t.rate, t.mostRate = settleRate, 1
	t.weigh(t.best)
}
