package report

import (
	"cmp"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// curvePanel shows, at each tolerance, the share of hold-out rows that are off by more, or of units that
// miss, and the bound for fresh ones. The tolerance at which it states its bound is a line.
func (f Figure) curvePanel() panel {
	axisLabel, own := cmp.Or(f.Target, "target")+", tolerance", f.CurveLoss.Epsilon
	if f.CurveLoss.Width == certify.WidthDeviation {
		axisLabel += " in predictive deviations"
	}
	missed, bound := f.stairs()
	last, most := bound[len(bound)-1].X, bound[0].Y
	p := panel{
		title: "Off by more, at every tolerance at once",
		x:     axis{label: axisLabel, hi: last, ticks: ticks(6, 0, last)},
		y:     axis{label: "share of " + f.Example + "s", hi: most, ticks: ticks(5, 0, most), grid: true},
		marks: []mark{
			{color: band, at: between(missed, bound)},
			{name: "fresh " + f.Example + "s, at most", color: green, at: bound, width: 2},
			{name: certify.Count(f.Held, "hold-out "+f.Example), color: blue, at: missed, width: 1.4},
		},
	}
	if own <= last {
		p.marks = append(p.marks, mark{
			name: fmt.Sprintf("tolerance %.3g", own), color: slate,
			at: []xy{{own, 0}, {own, most}}, width: 1.1, dashes: []float64{4, 3},
		})
	}
	return p
}

// stairs returns the shares of hold-out rows and the bounds, as lines with one step for each step of
// the curve.
func (f Figure) stairs() (missed, bound []xy) {
	steps := f.Curve.Steps
	for i, s := range steps {
		end := 1.05 * s.Tolerance
		if i+1 < len(steps) {
			end = steps[i+1].Tolerance
		}
		k := float64(s.Misses) / float64(f.Held)
		missed = append(missed, xy{X: s.Tolerance, Y: k}, xy{X: end, Y: k})
		bound = append(bound, xy{X: s.Tolerance, Y: s.Bound}, xy{X: end, Y: s.Bound})
	}
	return missed, bound
}

// between returns the area between two lines over the same range.
func between(low, high []xy) []xy {
	area := append([]xy{}, high...)
	for i := range low {
		area = append(area, low[len(low)-1-i])
	}
	return area
}
