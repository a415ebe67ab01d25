package certify

import (
	"fmt"
	"math"
	"math/big"
)

// A Prior says how the values of a [Grid] are weighted.
type Prior string

// The priors.
const (
	PriorFlat   Prior = "flat"
	PriorPeaked Prior = "peaked"
)

// MaxGridCount bounds the number of values of a grid, so that the sum of its weights can be
// checked term by term, also in a certificate with many grids.
const MaxGridCount = 100_001

// flatShare is the part of a peaked prior's mass that is spread evenly over the grid, so that a value far from
// the peak costs at most ln 8 nats more than under a flat prior.
const flatShare = 0.125

// maxWidthSteps bounds the width of a peaked prior in steps of its grid, so that its normaliser keeps its
// digits. A wider prior, which would be flat in effect, is refused.
const maxWidthSteps = 1 << 40

// A Grid declares the values that one hyper-parameter may take, and their weights before any certified row is seen.
//
// Value i, 0 ≤ i < Count, is Min + i·Step. The flat prior weights all values alike, with 1/Count. The peaked
// prior weights value i with
//
//	(1−s)·ρ^|i−Centre| / min(Count, K − 1 + 2/(1−ρ)) + s/Count,  ρ = exp(−Step/Width), s = ⅛.
//
// Centres are at multiples of K, which is [Grid.Spacing]. A trainer may choose the multiple below or above its
// estimate without paying for the choice: the larger of the two weights of each value, added up over all
// values, is at most 1 (docs/explanation/theory.md, 7).
type Grid struct {
	Min    float64 `json:"min"`
	Step   float64 `json:"step"`
	Count  int     `json:"count"`
	Prior  Prior   `json:"prior"`            // PriorFlat or PriorPeaked
	Centre int     `json:"centre,omitempty"` // peaked: the index with the largest weight; flat: 0
	Width  float64 `json:"width,omitempty"`  // peaked: > 0, in units of the values; flat: 0
}

// A Parameter is one hyper-parameter: its name, its grid, and the index of its value.
type Parameter struct {
	Name  string `json:"name"`
	Grid  Grid   `json:"grid"`
	Index int    `json:"index"`
}

// Value returns Min + i·Step, each operation rounded to nearest.
func (g Grid) Value(i int) float64 { return g.Min + float64(float64(i)*g.Step) }

// Value returns the parameter's value.
func (p Parameter) Value() float64 { return p.Grid.Value(p.Index) }

// Validate reports all faults of the declaration, NaN included. It checks that the weights that
// [LnInverseWeight] charges add up to at most 1.
func (g Grid) Validate() error {
	var faults faultList
	faults.when(!(math.Abs(g.Min) <= math.MaxFloat64), "grid min is %g, want a finite number", g.Min)
	faults.when(!(g.Step > 0 && g.Step <= math.MaxFloat64), "grid step is %g, want a positive number", g.Step)
	faults.when(g.Count < 1 || g.Count > MaxGridCount, "grid has %d values, want 1 to %d", g.Count, MaxGridCount)
	faults.when(!(math.Abs(g.Value(g.Count-1)) <= math.MaxFloat64), "the last value of the grid is %g", g.Value(g.Count-1))
	switch g.Prior {
	case PriorFlat:
		faults.when(!(g.Centre == 0 && g.Width == 0), "a flat prior has no centre (%d) and no width (%g)", g.Centre, g.Width)
	case PriorPeaked:
		faults.when(g.Centre < 0 || g.Centre >= g.Count, "the centre %d of the peaked prior is no index of %d values", g.Centre, g.Count)
		faults.when(!(g.Width > 0 && g.Width <= maxWidthSteps*g.Step), "the width of the peaked prior is %g, want more than 0 and at most 2^40 steps of the grid", g.Width)
	default:
		faults.add(fmt.Errorf("prior is %q, want %q or %q", g.Prior, PriorFlat, PriorPeaked))
	}
	return faults.err()
}

// LnInverseWeight returns an upper bound on ln 1/p_θ, in nats: the price of the union bound over all declared
// families of kernels and all values of the grids. p_θ is the product of the weights of the parameters' values,
// divided by the number of families. The result is 0 for one family without parameters. A grid that is not
// valid, or an index outside its grid, is an error.
func LnInverseWeight(families int, theta []Parameter) (float64, error) {
	if families < 1 {
		return 0, fmt.Errorf("certify: a kernel of %d families", families)
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

// LnInverseWeights returns the price of each value of the grid in nats: entry i is [LnInverseWeight] of one
// parameter at index i. It validates the grid only once.
func (g Grid) LnInverseWeights() ([]float64, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("certify: %w", err)
	}
	costs := make([]float64, g.Count)
	if g.Prior == PriorFlat {
		price := upward(widen(g.lnInverseWeight(0), -200))
		for i := range costs {
			costs[i] = price
		}
		return costs, nil
	}
	normaliser := g.normaliser()
	for i := range costs {
		costs[i] = upward(widen(g.lnInversePeaked(i, normaliser), -200))
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

// lnInverseWeight returns an upper bound on −ln of the weight of value i.
func (g Grid) lnInverseWeight(i int) *big.Float {
	if g.Prior == PriorFlat {
		return ln(exactInt(int64(g.Count)))
	}
	return g.lnInversePeaked(i, g.normaliser())
}

// lnInversePeaked is lnInverseWeight for a peaked prior with a known normaliser.
func (g Grid) lnInversePeaked(i int, normaliser *big.Float) *big.Float {
	steps := max(i-g.Centre, g.Centre-i)
	weight := expNegDown(empty().Mul(g.rate(), exactInt(int64(steps))))
	weight.Quo(weight, normaliser)
	weight.Mul(weight, exact(1-flatShare))
	weight.Add(weight, empty().Quo(exact(flatShare), exactInt(int64(g.Count))))
	weight.Sub(weight, empty().Mul(weight, pow2(-200)))
	return widen(empty().Neg(ln(weight)), -200)
}

// rate returns Step/Width, the fall of a peak's logarithm from one value to the next.
func (g Grid) rate() *big.Float { return empty().Quo(exact(g.Step), exact(g.Width)) }

// Spacing returns K, the number of steps between neighbouring positions for a peak: about ¼ in value, or one
// step if that is more.
func (g Grid) Spacing() int {
	return int(max(1, min(float64(g.Count), math.Floor(0.25/g.Step+0.5))))
}

// normaliser returns an upper bound on min(Count, K − 1 + 2/(1−ρ)), ρ = exp(−Step/Width): the sum over all
// values of the larger of two peaks at neighbouring positions, with 1 for the values between them.
func (g Grid) normaliser() *big.Float {
	z := empty().Quo(exact(2), empty().Sub(exact(1), expNegUp(g.rate())))
	z = widen(z.Add(z, exactInt(int64(g.Spacing()-1))), -120)
	if count := exactInt(int64(g.Count)); z.Cmp(count) > 0 {
		return count
	}
	return z
}
