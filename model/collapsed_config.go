package model

import (
	"cmp"
	"math"
)

// An Objective is what a [Collapsed] trainer minimises.
type Objective int

// The objectives.
const (
	// BoundKL is the bound, klinv(R_S, e) with e = (KL + ln 1/p_θ + ln(2√N/δ))/N.
	BoundKL Objective = iota
	// BoundPinsker is the looser R_S + √(e/2).
	BoundPinsker
	// Evidence is −ln N(y; 0, K_NZ K_ZZ⁻¹ K_ZN + D)/N, D the diagonal of αΛ + σ_n²: that of
	// FITC for α = 1, of DTC for α = 0, and of the exact process if Z = X.
	Evidence
	// EvidenceBound is Evidence with α = 0 and tr Λ/(2σ_n²N) added: the negative variational lower bound of VFE.
	EvidenceBound
)

// bounds reports whether the objective is a bound, which depends on the risk.
func (o Objective) bounds() bool { return o == BoundKL || o == BoundPinsker }

// CollapsedConfig describes a posterior of few parameters, and their objective. The Plan of the embedded Config
// matters only where a [Trainer] finds a start.
type CollapsedConfig struct {
	Config
	Objective Objective
	// Alpha is α, in [0, 1]: the part of the variance Λ_i, which the inducing points leave at a row, that
	// counts as noise of this row. It is 1 for FITC, and 0 for DTC and VFE. With EvidenceBound it must be 0.
	Alpha float64
	// PosteriorAlpha is the α of the resulting posterior, in [0, 1]. Nil means Alpha. The published experiments
	// use the posterior of FITC, α = 1, for every method.
	PosteriorAlpha *float64
	// Exact makes all start rows inducing points, which stay fixed: the exact process. All training rows must
	// be among the start rows.
	Exact bool
	// Starts are start values. If there are several, each is tried on some of the start rows, and the search on all
	// rows begins where the best trial ended. None means two: lengthscales, variance and noise of 1, and the result
	// of [Estimate] or, if a bound is minimised over Z, of a [Trainer] on mini-batches of the start rows.
	Starts []Start
	// Z are the inducing points with which all Starts begin, [M×Dim] in scaled units. Nil means k-means centres.
	Z []float64
	// Evaluations is the greatest number of gradients on all rows. Zero means 1,000.
	Evaluations int
	// Batch is the number of rows of a mini-batch for each gradient, whose objective is that of N rows like
	// these. Adam then makes all Evaluations, and Q comes from all rows at the point where it ends. Zero, and N
	// or more, mean gradients on all rows.
	Batch int
}

// DefaultEvaluations is the greatest number of gradients of a search, as in the published experiments.
const DefaultEvaluations = 1000

// A Start is where a minimisation begins, such as an [Estimate]. Values are in scaled units.
type Start struct {
	Theta   []float64 // ln lengthscales, ln variance
	LnNoise float64   // ln σ_n²
}

func (c CollapsedConfig) withDefaults() (CollapsedConfig, error) {
	inner, err := c.Config.withDefaults()
	if err != nil {
		return c, err
	}
	c.Config = inner
	c.Evaluations = cmp.Or(c.Evaluations, DefaultEvaluations)
	var faults faultList
	faults.when(!(c.Alpha >= 0 && c.Alpha <= 1), "α is %g, want 0 to 1", c.Alpha)
	faults.when(c.Objective == EvidenceBound && c.Alpha != 0, "the bound of the evidence has α = 0")
	if a := c.PosteriorAlpha; a != nil {
		faults.when(!(*a >= 0 && *a <= 1), "α of the posterior is %g, want 0 to 1", *a)
	}
	faults.when(c.Objective < BoundKL || c.Objective > EvidenceBound, "no objective %d", c.Objective)
	faults.when(c.Evaluations < 1, "%d evaluations", c.Evaluations)
	starts := len(c.Z) > 0 && len(c.Z)%max(1, c.Dim) == 0 && firstNotFinite(c.Z) < 0 && !c.Exact && len(c.Starts) > 0
	faults.when(c.Z != nil && !starts, "%d coordinates of inducing points of %d features: want finite numbers, of starts of a sparse process", len(c.Z), c.Dim)
	faults.when(c.Batch < 0 || c.Batch > 0 && c.Exact, "mini-batches of %d rows; an exact process has none", c.Batch)
	if int64(c.Batch) >= c.N {
		c.Batch = 0
	}
	for i, s := range c.Starts {
		faults.when(len(s.Theta) != c.Parameters() || firstNotFinite(s.Theta) >= 0 || math.IsNaN(s.LnNoise) || math.IsInf(s.LnNoise, 0),
			"start %d is %v, want %d finite numbers and the logarithm of the noise", i, s, c.Parameters())
	}
	return c, faults.err()
}
