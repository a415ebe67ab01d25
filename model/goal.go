package model

import (
	"math"
	"slices"
)

// A Goal is the objective that a [Trainer] minimises.
type Goal int

// The goals.
const (
	// GoalBound is the bound.
	GoalBound Goal = iota
	// GoalELBO is the negative evidence lower bound of a Gaussian likelihood
	//
	//	½N ln(2πσ_n²) + Σ E(f−y)²/2σ_n² + KL + ln 1/p_θ
	//
	// with its best noise, σ_n² = Σ E(f−y)²/N; and then, with θ, Z and the mean of q as they
	// are, the bound as a function of the covariance of q.
	GoalELBO
	// GoalBoth is the bound, and then the expected squared error with θ and Z as they are,
	// as far as it leaves the bound within polishMost.
	GoalBoth
)

// goals are the names of the goals in job files.
var goals = [...]string{"bound", "elbo", "both"}

// Goals lists the goals' names.
func Goals() []string { return goals[:] }

// String returns the goal's name.
func (g Goal) String() string { return goals[g] }

// NamedGoal returns the goal of a name, if there is one.
func NamedGoal(name string) (g Goal, ok bool) {
	i := slices.Index(goals[:], name)
	return Goal(max(0, i)), i >= 0
}

const (
	leastNoise  = 1e-6
	polishMost  = 1.02 // of the bound that is reached without polish
	polishFirst = 0.2  // worth of a nat a row, relative to the bound
	polishMore  = 2    // growth of that worth after a step that helped
)

// byEvidence reports whether this phase minimises the evidence bound.
func (t *Trainer) byEvidence() bool { return t.cfg.Goal == GoalELBO && t.phase != Polish }

// value returns the objective: the bound; the exponential of the evidence bound a row, without
// constants; or, for GoalBoth in the last phase, the expected squared error. In the last phase it
// is +Inf where the bound exceeds the limit.
func (t *Trainer) value(p Progress) float64 {
	switch {
	case t.phase == Polish && !(p.Bound <= t.limit):
		return math.Inf(1)
	case t.phase == Polish && t.cfg.Goal == GoalBoth:
		return p.squares
	case t.byEvidence():
		return math.Sqrt(max(leastNoise, p.squares)) * math.Exp((p.KL+p.LnInverseWeight)/float64(t.cfg.N))
	default:
		return p.Bound
	}
}

// weigh sets the prices of a unit of loss and of a nat of the likelihood in nats of the KL.
// With the bound B and the risk R, κ nats of the likelihood are worth as much as a relative
// change κ of B at a price of κ(B−R)/(1−B).
func (t *Trainer) weigh(p Progress) {
	t.weight, t.likelihood = riskWeight(p.Risk, p.Bound), 0
	noise := max(leastNoise, p.squares)
	switch {
	case t.byEvidence():
		t.weight, t.likelihood = 1, 1/noise
	case t.phase == Polish && t.cfg.Goal == GoalBoth:
		t.likelihood = t.worth * max(0, p.Bound-p.Risk) / max(1-p.Bound, 1e-3) / t.weight / noise
	}
}

// startPolish starts the last phase from the settled state.
func (t *Trainer) startPolish() {
	t.phase, t.step, t.settleSteps = Polish, 0, t.cfg.Plan.Settle
	t.settleFlat, t.settleFailed = 0, 0
	t.limit = polishMost * t.best.Bound
	t.best.value = t.value(t.best)
	t.rate, t.worth = settleRate, polishFirst
	t.weigh(t.best)
}
