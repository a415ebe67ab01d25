package job

import (
	"math"

	"github.com/pacsgp/pacsgp/certify"
)

// Flat returns the grid with equal weights.
func (g GridDecl) Flat() certify.Grid {
	return certify.Grid{Min: g.Min, Step: g.Step, Count: g.count(), Prior: certify.PriorFlat}
}

// count returns the number of values from Min to Max. It includes the last one if Max is below it by rounding only.
func (g GridDecl) count() int { return int((g.Max-g.Min)/g.Step+1e-6) + 1 }

// Peaked returns the grid whose weights are largest at the value with the index centre and fall on both sides.
func (g GridDecl) Peaked(centre int) certify.Grid {
	grid := g.Flat()
	grid.Prior, grid.Centre, grid.Width = certify.PriorPeaked, centre, g.Width
	return grid
}

// Expected returns a parameter as a plan assumes it: one width above a peak in the middle of the grid.
func (g GridDecl) Expected(name string) certify.Parameter {
	if g.Prior != certify.PriorPeaked {
		return certify.Parameter{Name: name, Grid: g.Flat()}
	}
	grid := g.Peaked((g.count() - 1) / 2)
	return certify.Parameter{Name: name, Grid: grid, Index: min(g.count()-1, grid.Centre+int(math.Round(g.Width/g.Step)))}
}

// Peak returns the index of the peak of a parameter's weights, given the estimate of the parameter. Peaks have fixed
// positions, and with [math.Round] it is the nearest one. Estimates of different instruction sets give the same
// position or two neighbours, which [math.Floor] and [math.Ceil] return. Verification accepts either: the weights
// pay for the choice (docs/explanation/theory.md, 7).
func (g GridDecl) Peak(at float64, rounding func(float64) float64) int {
	apart := g.Flat().Spacing()
	last := (g.count() - 1) / apart
	return apart * int(max(0, min(float64(last), rounding((at-g.Min)/(g.Step*float64(apart))))))
}
