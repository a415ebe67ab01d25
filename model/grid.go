package model

import (
	"fmt"
	"math"
)

// A Grid is the declared set of values of one hyper-parameter, a logarithm, with the cost of each value in nats.
type Grid struct {
	Min, Step float64
	Count     int
	// LnInverseWeights are the costs of the Count values: ln 1/weight. Nil means the flat prior, with ln Count
	// for each.
	LnInverseWeights []float64
}

// mostValues is the greatest number of values of a grid.
const mostValues = 100_001

// Value returns grid value i.
func (g Grid) Value(i int) float64 { return g.Min + float64(float64(i)*g.Step) }

// Nearest returns the index of the grid value nearest to v.
func (g Grid) Nearest(v float64) int {
	i := math.Round((v - g.Min) / g.Step)
	return int(max(0, min(float64(g.Count-1), i)))
}

// clamp moves v into the range of the grid.
func (g Grid) clamp(v float64) float64 {
	return max(g.Min, min(g.Value(g.Count-1), v))
}

// lnInverseWeightAt returns ln 1/weight at v, interpolated between grid values, and its slope there.
func (g Grid) lnInverseWeightAt(v float64) (ln, slope float64) {
	if g.LnInverseWeights == nil {
		return math.Log(float64(g.Count)), 0
	}
	if g.Count == 1 {
		return g.LnInverseWeights[0], 0
	}
	at := max(0, min(float64(g.Count-1), (v-g.Min)/g.Step))
	i := min(int(at), g.Count-2)
	rise := g.LnInverseWeights[i+1] - g.LnInverseWeights[i]
	return g.LnInverseWeights[i] + (at-float64(i))*rise, rise / g.Step
}

func (g Grid) validate(name string) error {
	switch {
	case g.Count < 1 || g.Count > mostValues:
		return fmt.Errorf("model: grid of %s has %d values, want 1 to %d", name, g.Count, mostValues)
	case !(g.Step > 0) || math.IsInf(g.Step, 0) || math.IsNaN(g.Min) || !(math.Abs(g.Min) < 300) || !(math.Abs(g.Value(g.Count-1)) < 300):
		return fmt.Errorf("model: grid of %s from %g in %d steps of %g leaves the usable range of logarithms (±300)", name, g.Min, g.Count, g.Step)
	case g.LnInverseWeights != nil && len(g.LnInverseWeights) != g.Count:
		return fmt.Errorf("model: grid of %s has %d values and %d weights", name, g.Count, len(g.LnInverseWeights))
	case firstNotFinite(g.LnInverseWeights) >= 0:
		return fmt.Errorf("model: grid of %s has a weight that is zero or not a number", name)
	}
	return nil
}
