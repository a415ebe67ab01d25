package report

import (
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// groupsPanel shows of each group the share of hold-out rows that are missed, and the bound for fresh
// ones. Groups of which nothing is said have no dots.
func (f Figure) groupsPanel() *plot.Plot {
	p := newPanel("Missed, by groups of "+f.Groups.Column, "share of rows", "")
	grid := plotter.NewGrid()
	grid.Horizontal.Color = nil
	grid.Vertical.Color, grid.Vertical.Width = rule, 0.7
	p.Add(grid)
	var names []string
	var missed, bound plotter.XYs
	last := len(f.Groups.Each) - 1
	for i, of := range f.Groups.Each {
		at := float64(last - i) // from above
		name := "others"
		if i < last {
			name = strconv.FormatFloat(f.Groups.Values[i], 'g', -1, 64)
		}
		if i < len(f.Groups.Texts) {
			name = f.Groups.Texts[i]
		}
		names = append([]string{name + " (" + strconv.FormatInt(of.N, 10) + " rows)"}, names...)
		if !(of.Bound < 1) {
			continue
		}
		k := float64(of.Misses) / float64(of.N)
		missed, bound = append(missed, plotter.XY{X: k, Y: at}), append(bound, plotter.XY{X: of.Bound, Y: at})
		p.Add(&plotter.Line{XYs: plotter.XYs{missed[len(missed)-1], bound[len(bound)-1]}, LineStyle: stroke(faint, 1.1)})
	}
	most := 0.0
	for _, dot := range bound {
		most = max(most, dot.X)
	}
	above := &plotter.Scatter{XYs: bound, GlyphStyle: draw.GlyphStyle{Color: green, Radius: vg.Points(3.2), Shape: draw.CircleGlyph{}}}
	below := &plotter.Scatter{XYs: missed, GlyphStyle: draw.GlyphStyle{Color: blue, Radius: vg.Points(2.4), Shape: draw.CircleGlyph{}}}
	p.Add(above, below)
	p.Legend.Add("fresh rows, at most", above)
	p.Legend.Add("hold-out rows", below)
	p.Legend.Top = true
	p.NominalY(names...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1.1*most, -0.5, float64(last)+1.2
	p.X.Tick.Marker = ticks(5, 1.1*most)
	return p
}
