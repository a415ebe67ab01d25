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

// weigh sets the prices of a unit of loss and of a nat of the likelihood in nats of the KL.
func (t *Trainer) weigh(p Progress) {
	t.weight, t.likelihood = riskWeight(p.Risk, p.Bound), 0
	if t.byEvidence() {
		t.weight, t.likelihood = 1, 1/max(leastNoise, p.squares)
	}
}

// startCovariance starts the last phase from the settled state.
func (t *Trainer) startCovariance() {
	t.phase, t.step, t.settleSteps = Covariance, 0, t.cfg.Plan.Settle
	t.settleFlat, t.settleFailed = 0, 0
	t.best.value = t.value(t.best)
	t.rate = settleRate
	t.weigh(t.best)
}
