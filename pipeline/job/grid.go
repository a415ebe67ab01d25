package job

import (
	"math"

	"github.com/pacsgp/pacsgp/certify"
)

// Flat is the grid with equal weights.
func (g GridDecl) Flat() certify.Grid {
	return certify.Grid{Min: g.Min, Step: g.Step, Count: g.count(), Prior: certify.PriorFlat}
}

// count is the number of values from Min to Max; a Max that misses the last
// one by rounding counts.
func (g GridDecl) count() int { return int((g.Max-g.Min)/g.Step+1e-6) + 1 }

// Peaked is the grid with weights that fall from the value of that index.
func (g GridDecl) Peaked(centre int) certify.Grid {
	grid := g.Flat()
	grid.Prior, grid.Centre, grid.Width = certify.PriorPeaked, centre, g.Width
	return grid
}

// Expected is a parameter as training may fit it: one width away from a peak in the middle.
func (g GridDecl) Expected(name string) certify.Parameter {
	if g.Prior != certify.PriorPeaked {
		return certify.Parameter{Name: name, Grid: g.Flat()}
	}
	grid := g.Peaked((g.count() - 1) / 2)
	return certify.Parameter{Name: name, Grid: grid, Index: min(g.count()-1, grid.Centre+int(math.Round(g.Width/g.Step)))}
}

// Peak is the index of the peak of a parameter's weights near its estimate: the nearest position by [math.Round].
// Positions are so far apart that estimates on all instruction sets give the same one, or one of two neighbours,
// by [math.Floor] and [math.Ceil]; verification accepts either. The weights pay for the choice
// (docs/explanation/theory.md, 7).
func (g GridDecl) Peak(at float64, rounding func(float64) float64) int {
	apart := g.Flat().Spacing()
	last := (g.count() - 1) / apart
	return apart * int(max(0, min(float64(last), rounding((at-g.Min)/(g.Step*float64(apart))))))
}
