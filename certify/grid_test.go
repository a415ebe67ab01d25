package certify

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

func flat(count int) Grid { return Grid{Min: -6, Step: .01, Count: count, Prior: PriorFlat} }

func peaked(count, centre int, width float64) Grid {
	return Grid{Min: -6, Step: .01, Count: count, Prior: PriorPeaked, Centre: centre, Width: width}
}

// The union over the grid pays for every value that could have been chosen: weights
// as charged, exp(−cost), never add up to more than 1. Of a peaked prior that is the
// greater weight under two neighbouring positions, for its centre may be either.
func TestWeightsAddUpToAtMostOne(t *testing.T) {
	for _, g := range []Grid{
		flat(1), flat(2), flat(1201),
		peaked(1, 0, 1), peaked(2, 1, 1e-9), peaked(1201, 600, .5), peaked(1201, 0, .02), peaked(1201, 1200, .02), peaked(97, 96, 1e6), peaked(60, 25, .3),
		{Min: -6, Step: .25, Count: 49, Prior: PriorPeaked, Centre: 24, Width: .5},
		{Min: -6, Step: 2, Count: 7, Prior: PriorPeaked, Centre: 6, Width: .5},
	} {
		costs, err := g.LnInverseWeights()
		fatal.If(t, err)
		for i := 0; i < len(costs); i += 97 {
			alone, err := LnInverseWeight(1, []Parameter{{Name: "a", Grid: g, Index: i}})
			if err != nil || costs[i] != alone {
				t.Errorf("%+v: value %d costs %g in the list, %g alone (%v)", g, i, costs[i], alone, err)
			}
		}
		if excess := excess(costs); excess > 0x1p-180 {
			t.Errorf("%+v: weights add up to 1 + %g", g, excess)
		} else if g.Prior == PriorFlat && excess < -1e-14 {
			t.Errorf("%+v: weights waste %g", g, -excess)
		}
		if g.Prior == PriorFlat || g.Centre+g.Spacing() >= g.Count {
			continue
		}
		extra := g
		extra.Centre += g.Spacing()
		others, err := extra.LnInverseWeights()
		fatal.If(t, err)
		for i := range costs {
			costs[i] = min(costs[i], others[i])
		}
		if excess := excess(costs); excess > 0x1p-180 {
			t.Errorf("%+v: with the position next to it the weights add up to 1 + %g", g, excess)
		}
	}
}

// excess is what exp(−cost) add up to, less 1. expNegUp is above by 2⁻¹⁹⁹ relatively;
// costs are rounded up to float64.
func excess(costs []float64) float64 {
	sum := exact(-1)
	for _, cost := range costs {
		sum.Add(sum, expNegUp(exact(cost)))
	}
	e, _ := sum.Float64()
	return e
}

// A choice among families costs ln of their number, rounded up.
func TestFamiliesCostTheirNumber(t *testing.T) {
	theta := []Parameter{{Name: "a", Grid: flat(1201)}}
	for families := 1; families <= 3; families++ {
		got, err := LnInverseWeight(families, theta)
		want := math.Log(float64(1201 * families))
		if err != nil || got < ln64(1201*families) || !(got <= want*(1+0x1p-51)) {
			t.Errorf("%d families cost %.18g (%v), want %.18g", families, got, err, want)
		}
	}
	if _, err := LnInverseWeight(0, theta); err == nil {
		t.Error("no family is accepted")
	}
}

// ln64 is ln n, rounded down.
func ln64(n int) float64 {
	x, accuracy := ln(exactInt(int64(n))).Float64()
	if accuracy == big.Above {
		x = math.Nextafter(x, 0)
	}
	return x
}

func TestGridFaultsAreErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, g := range map[string]Grid{
		"min NaN":             {Min: nan, Step: 1, Count: 2, Prior: PriorFlat},
		"min infinite":        {Min: -inf, Step: 1, Count: 2, Prior: PriorFlat},
		"step NaN":            {Step: nan, Count: 2, Prior: PriorFlat},
		"step 0":              {Count: 2, Prior: PriorFlat},
		"step infinite":       {Step: inf, Count: 2, Prior: PriorFlat},
		"no values":           {Step: 1, Prior: PriorFlat},
		"too many values":     {Step: 1, Count: 1_000_001, Prior: PriorFlat},
		"last value infinite": {Step: 1e308, Count: 3, Prior: PriorFlat},
		"no prior":            {Step: 1, Count: 2},
		"flat with a centre":  {Step: 1, Count: 2, Prior: PriorFlat, Centre: 1},
		"flat with a width":   {Step: 1, Count: 2, Prior: PriorFlat, Width: 1},
		"centre too high":     {Step: 1, Count: 2, Prior: PriorPeaked, Centre: 2, Width: 1},
		"centre negative":     {Step: 1, Count: 2, Prior: PriorPeaked, Centre: -1, Width: 1},
		"width 0":             {Step: 1, Count: 2, Prior: PriorPeaked},
		"width NaN":           {Step: 1, Count: 2, Prior: PriorPeaked, Width: nan},
		"width infinite":      {Step: 1, Count: 2, Prior: PriorPeaked, Width: inf},
		"width of 2^41 steps": {Step: 1, Count: 2, Prior: PriorPeaked, Width: 1 << 41},
	} {
		if err := g.Validate(); err == nil {
			t.Errorf("%s: Validate accepts %+v", name, g)
		}
		if _, err := g.LnInverseWeights(); err == nil {
			t.Errorf("%s: LnInverseWeights accepts %+v", name, g)
		}
	}
	for _, index := range []int{-1, 2} {
		if got, err := LnInverseWeight(1, []Parameter{{Name: "a", Grid: flat(2), Index: index}}); err == nil {
			t.Errorf("LnInverseWeight at index %d of two values = %g, want an error", index, got)
		}
	}
}

// Grids of any number of values are checked at once.
func TestGridsOfManyValues(t *testing.T) {
	peaked := Parameter{Name: "x", Grid: Grid{Min: -6, Step: 1e-4, Count: MaxGridCount, Prior: PriorPeaked, Centre: 7, Width: 5}}
	began := time.Now()
	if _, err := LnInverseWeight(1, slices.Repeat([]Parameter{peaked}, 1<<14)); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
