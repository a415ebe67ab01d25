package certify

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// Priors over the values of a [Grid].
const (
	PriorFlat   = "flat"
	PriorPeaked = "peaked"
)

// maxGridCount bounds the number of values of a grid to what a job may declare, so that
// the sum of its weights can be checked term by term, also in a certificate that names
// many grids.
const maxGridCount = 100_001

// maxWidthSteps bounds the width of a peaked prior in steps of its grid, so
// that its normaliser keeps its digits. A wider one is flat.
const maxWidthSteps = 1 << 40

// A Grid declares the values that one hyper-parameter may take, and their
// weights before a certified row is seen.
//
// Value i, 0 ≤ i < Count, is Min + i·Step. The flat prior weighs all values
// alike, 1/Count. The peaked prior weighs value i in proportion to
// exp(−|i−Centre|·Step/Width), normalised over the Count values, and halved: the
// centre may be either of the two cells beside an estimate, so that the weights
// of both add up to at most 1.
type Grid struct {
	Min    float64 `json:"min"`
	Step   float64 `json:"step"`
	Count  int     `json:"count"`
	Prior  string  `json:"prior"`            // PriorFlat or PriorPeaked
	Centre int     `json:"centre,omitempty"` // peaked: the heaviest index
	Width  float64 `json:"width,omitempty"`  // peaked: in units of the values, > 0
}

// A Parameter is one hyper-parameter: its name, its grid, and which of the
// grid's values it has.
type Parameter struct {
	Name  string `json:"name"`
	Grid  Grid   `json:"grid"`
	Index int    `json:"index"`
}

// Value returns Min + i·Step, each operation rounded to nearest.
func (g Grid) Value(i int) float64 { return g.Min + float64(float64(i)*g.Step) }

// Value returns the parameter's value.
func (p Parameter) Value() float64 { return p.Grid.Value(p.Index) }

// Validate reports all faults of the declaration, NaN included, and checks that
// the weights that [LnInverseWeight] charges add up to at most 1.
func (g Grid) Validate() error {
	var faults []error
	fault := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(math.Abs(g.Min) <= math.MaxFloat64, "grid min is %g, want a finite number", g.Min)
	fault(g.Step > 0 && g.Step <= math.MaxFloat64, "grid step is %g, want a positive number", g.Step)
	fault(1 <= g.Count && g.Count <= maxGridCount, "grid has %d values, want 1 to %d", g.Count, maxGridCount)
	fault(math.Abs(g.Value(g.Count-1)) <= math.MaxFloat64, "the last value of the grid is %g", g.Value(g.Count-1))
	switch g.Prior {
	case PriorFlat:
		fault(g.Centre == 0 && g.Width == 0, "a flat prior has no centre (%d) and no width (%g)", g.Centre, g.Width)
	case PriorPeaked:
		fault(0 <= g.Centre && g.Centre < g.Count, "the centre %d of the peaked prior is no index of %d values", g.Centre, g.Count)
		fault(g.Width > 0 && g.Width <= maxWidthSteps*g.Step, "the width of the peaked prior is %g, want more than 0 and at most 2^40 steps of the grid", g.Width)
	default:
		fault(false, "prior is %q, want %q or %q", g.Prior, PriorFlat, PriorPeaked)
	}
	if len(faults) == 0 {
		faults = append(faults, g.checkWeights())
	}
	return errors.Join(faults...)
}

// maxPeakedValues bounds the values of all peaked grids of a model together: their
// weights are added one by one, half a microsecond each.
const maxPeakedValues = 1 << 23

// CheckSize returns an error unless the grids can be checked in some seconds. Who
// reads parameters of somebody else asks this before it checks a single one.
func CheckSize(theta []Parameter) error {
	var values int
	for _, p := range theta {
		if p.Grid.Prior == PriorPeaked {
			values += max(0, min(p.Grid.Count, maxGridCount))
		}
		if values > maxPeakedValues {
			return fmt.Errorf("the peaked grids of %d parameters have more than %d values in all; a coarser step makes fewer", len(theta), maxPeakedValues)
		}
	}
	return nil
}

// LnInverseWeight returns an upper bound on ln 1/p_θ, p_θ being 1 over the number of
// declared families of kernels, times the weights of the parameters' values: what the
// union over all families and values of the grids costs, in nats. It is 0 for one
// family without parameters. Every grid must be valid and
// every index one of its grid's.
func LnInverseWeight(families int, theta []Parameter) (float64, error) {
	if families < 1 {
		return 0, fmt.Errorf("certify: a kernel of %d families", families)
	}
	if err := CheckSize(theta); err != nil {
		return 0, fmt.Errorf("certify: %w", err)
	}
	sum := empty()
	if families > 1 {
		sum = ln(exactInt(int64(families)))
	}
	for _, p := range theta {
		if err := p.validate(); err != nil {
			return 0, fmt.Errorf("certify: %w", err)
		}
		sum.Add(sum, p.Grid.lnInverseWeight(p.Index))
	}
	return upward(widen(sum, -200)), nil
}

// LnInverseWeights returns what each value of the grid costs alone: entry i is
// [LnInverseWeight] of one parameter at index i. It checks the grid once.
func (g Grid) LnInverseWeights() ([]float64, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("certify: %w", err)
	}
	costs := make([]float64, g.Count)
	normaliser := ln(g.normaliser())
	for i := range costs {
		costs[i] = upward(widen(empty().Add(g.distance(i), normaliser), -200))
	}
	return costs, nil
}

// validate reports faults of the grid and of the index.
func (p Parameter) validate() error {
	if err := p.Grid.Validate(); err != nil {
		return fmt.Errorf("parameter %q: %w", p.Name, err)
	}
	if p.Index < 0 || p.Index >= p.Grid.Count {
		return fmt.Errorf("parameter %q: %d is no index of %d values", p.Name, p.Index, p.Grid.Count)
	}
	return nil
}

// lnInverseWeight returns −ln of the weight of value i, an upper bound on it up
// to rounding.
func (g Grid) lnInverseWeight(i int) *big.Float {
	return empty().Add(g.distance(i), ln(g.normaliser()))
}

// distance returns |i−Centre|·Step/Width, or 0 for the flat prior.
func (g Grid) distance(i int) *big.Float {
	steps := i - g.Centre
	if steps < 0 {
		steps = -steps
	}
	return empty().Mul(g.rate(), exactInt(int64(steps)))
}

// rate returns Step/Width, by which the logarithm of a peaked weight falls from
// one value to the next. It is 0 for the flat prior.
func (g Grid) rate() *big.Float {
	if g.Prior == PriorFlat {
		return empty()
	}
	return empty().Quo(exact(g.Step), exact(g.Width))
}

// normaliser returns an upper bound on what weights are divided by, in closed
// form: Count for the flat prior, and for the peaked one, ρ = exp(−Step/Width),
//
//	2 Σ_i ρ^|i−Centre| = 2 (S(Centre) + S(Count−1−Centre) − 1),  S(n) = (1 − ρ^{n+1})/(1 − ρ).
//
// The 2 halves the weights, for there are two centres to choose from.
func (g Grid) normaliser() *big.Float {
	if g.Prior == PriorFlat {
		return exactInt(int64(g.Count))
	}
	rho := expNegUp(g.rate())
	z := empty().Add(geometric(rho, g.Centre), geometric(rho, g.Count-1-g.Centre))
	z.Sub(z, exact(1))
	return widen(z.Mul(z, exact(2)), -120)
}

// geometric returns 1 + ρ + … + ρⁿ for 0 < ρ < 1 − 2⁻⁴¹, relatively off by less
// than 2⁻¹³⁰.
func geometric(rho *big.Float, n int) *big.Float {
	one := exact(1)
	power, square := exact(1), empty().Set(rho)
	for k := n + 1; k > 0; k >>= 1 {
		if k&1 == 1 {
			power.Mul(power, square)
		}
		square.Mul(square, square)
	}
	return power.Quo(power.Sub(one, power), empty().Sub(one, rho))
}

// checkWeights adds the weights of all values term by term, outwards and
// without the closed form that charges them: they must not exceed 1, and those
// of a peaked prior one half.
func (g Grid) checkWeights() error {
	sum := exactInt(int64(g.Count))
	if g.Prior == PriorPeaked {
		rho := expNegUp(g.rate())
		sum = exact(1)
		for _, n := range []int{g.Centre, g.Count - 1 - g.Centre} {
			for term := empty().Set(rho); n > 0; n-- {
				sum.Add(sum, term)
				term.Mul(term, rho)
			}
		}
		sum = widen(sum.Mul(sum, exact(2)), -200)
	}
	if sum.Cmp(g.normaliser()) > 0 {
		return fmt.Errorf("the weights of the %d values of the grid add up to more than 1", g.Count)
	}
	return nil
}
