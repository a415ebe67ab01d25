package model

import "math"

const leastNoise = 1e-6

// byEvidence reports whether this phase minimises the evidence bound.
func (t *Trainer) byEvidence() bool { return t.cfg.ELBO && t.phase != Covariance }

// value returns the objective: the bound, or the exponential of the evidence bound a row, without
// constants.
func (t *Trainer) value(p Progress) float64 {
	if t.byEvidence() {
		return math.Sqrt(max(leastNoise, p.squares)) * math.Exp((p.KL+p.LnInverseWeight)/float64(t.cfg.N))
	}
	return p.Bound
}

// While θ and Z move, squared errors count next to the losses, with this exponent: what falls is the
// bound of risk·squares^(squared/2). The losses alone do not tell a row that is near from one that is
// just within the tolerance, and predictions would suffer. The last steps of q are by the bound alone.
// Of 0.3 to 1 this gains most for at most a few percent of the bound.
const squared = 0.5

// weigh sets the price of a unit of loss in nats of the KL, and that of E(f−y)²/2 in such units.
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

// startCovariance starts the last phase from the settled state.
func (t *Trainer) startCovariance() {
	t.phase, t.step, t.settleSteps = Covariance, 0, t.cfg.Plan.Settle
	t.settleFlat, t.settleFailed = 0, 0
	t.best.value = t.value(t.best)
	t.rate, t.mostRate = settleRate, 1
	t.weigh(t.best)
}
