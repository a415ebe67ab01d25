package report

import (
	"cmp"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/pacsgp/pacsgp/certify"
)

// curvePanel shows, at each tolerance, the share of hold-out rows that are off by more, or of units that
// miss, and the bound for fresh ones. The tolerance at which it states its bound is a line.
func (f Figure) curvePanel() *plot.Plot {
	axis, at := cmp.Or(f.Target, "target")+", tolerance", f.CurveLoss.Epsilon
	if f.CurveLoss.Width == certify.WidthDeviation {
		axis += " in predictive deviations"
	}
	p := newPanel("Off by more, at every tolerance at once", axis, "share of "+f.Example+"s")
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color, grid.Horizontal.Width = rule, 0.7
	p.Add(grid)
	missed, bound := f.stairs()
	last, most := bound[len(bound)-1].X, bound[0].Y
	band := &plotter.Polygon{Color: color.NRGBA{R: 0x00, G: 0x7d, B: 0x5a, A: 0x2a}, XYs: []plotter.XYs{between(missed, bound)}}
	p.Add(band)
	above := &plotter.Line{XYs: bound, LineStyle: stroke(green, 2)}
	below := &plotter.Line{XYs: missed, LineStyle: stroke(blue, 1.4)}
	own := &plotter.Line{XYs: plotter.XYs{{X: at, Y: 0}, {X: at, Y: most}}, LineStyle: stroke(slate, 1.1, 4, 3)}
	p.Add(above, below)
	p.Legend.Add("fresh "+f.Example+"s, at most", above)
	p.Legend.Add(certify.Count(f.Held, "hold-out "+f.Example), below)
	if at <= last {
		p.Add(own)
		p.Legend.Add(fmt.Sprintf("tolerance %.3g", at), own)
	}
	p.Legend.Top = true
	p.Legend.XOffs, p.Legend.YOffs = -4, -4
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, last, 0, most
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(6, last), ticks(5, most)
	return p
}

// stairs returns the shares of hold-out rows and the bounds, as lines with one step for each step of
// the curve.
func (f Figure) stairs() (missed, bound plotter.XYs) {
	steps := f.Curve.Steps
	for i, s := range steps {
		end := 1.05 * s.Tolerance
		if i+1 < len(steps) {
			end = steps[i+1].Tolerance
		}
		k := float64(s.Misses) / float64(f.Held)
		missed = append(missed, plotter.XY{X: s.Tolerance, Y: k}, plotter.XY{X: end, Y: k})
		bound = append(bound, plotter.XY{X: s.Tolerance, Y: s.Bound}, plotter.XY{X: end, Y: s.Bound})
	}
	return missed, bound
}

// between returns the area between two lines over the same range.
func between(low, high plotter.XYs) plotter.XYs {
	area := append(plotter.XYs{}, high...)
	for i := range low {
		area = append(area, low[len(low)-1-i])
	}
	return area
}
