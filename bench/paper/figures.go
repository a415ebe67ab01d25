package main

import (
	"errors"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pacsgp/pacsgp/bench/measured"
)

var (
	palette = []color.NRGBA{{0x1f, 0x5f, 0xa8, 0xff}, {0xc4, 0x4e, 0x1e, 0xff}, {0x3a, 0x8a, 0x4a, 0xff}, {0x7a, 0x4f, 0xa3, 0xff}}
	grey    = color.NRGBA{0x80, 0x80, 0x80, 0xff}
	dashes  = []vg.Length{vg.Points(3), vg.Points(3)}
)

// savePanels writes panels side by side to PNG files.
func savePanels(paths []string, panels [][]*plot.Plot, width, height vg.Length) error {
	image := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))
	tiles := draw.Tiles{Rows: len(panels), Cols: len(panels[0]), PadX: vg.Points(14), PadY: vg.Points(14), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(6)}
	cells := plot.Align(panels, tiles, draw.New(image))
	for i, line := range panels {
		for j, p := range line {
			if p != nil {
				p.Draw(cells[i][j])
			}
		}
	}
	var err error
	for _, path := range paths {
		err = errors.Join(err, measured.SavePNG(path, image))
	}
	return err
}

// The parts of panels are made without the plotter's constructors, whose errors report NaN points: there are
// none here, because rows with NaN are left out.

func newPanel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top = true
	return p
}

func newLine(points plotter.XYs, c color.Color, dashes ...vg.Length) *plotter.Line {
	return &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: c, Width: vg.Points(1), Dashes: dashes}}
}

func newDots(points plotter.XYs, shape draw.GlyphDrawer, radius float64, c color.Color) *plotter.Scatter {
	return &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: c, Radius: vg.Points(radius), Shape: shape}}
}

func addSeries(p *plot.Plot, points plotter.XYs, radius float64, c color.Color) (*plotter.Line, *plotter.Scatter) {
	line, dots := newLine(points, c), newDots(points, draw.CircleGlyph{}, radius, c)
	p.Add(line, dots)
	return line, dots
}

// grouped returns the rows by title, and the titles in the order of their first rows.
func grouped(rows []row, title func(r row) string) (order []string, groups map[string][]row) {
	groups = map[string][]row{}
	for _, r := range rows {
		key := title(r)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	return order, groups
}

// quantities are the numbers that a figure shows, one in each panel.
var quantities = []struct{ name, title string }{
	{"B", "bound B"}, {"R_train", "training risk"}, {"R_test", "test risk"}, {"mse", "squared error"}, {"kl_per_n", "KL/N"},
}

// curves draws a panel for each quantity over x, with standard errors. Each series is a line; the paper's
// numbers are crosses. Rows must be in the order of x.
func curves(title, xTitle string, rows []row, x func(row) float64, series func(row) string) []*plot.Plot {
	var panels []*plot.Plot
	for i, q := range quantities {
		p := newPanel(q.title, xTitle, "")
		if i == 0 {
			p.Y.Label.Text = title
		}
		var theirs *plotter.Scatter
		order, groups := grouped(rows, series)
		for s, name := range order {
			col := palette[s%len(palette)]
			var points, marks plotter.XYs
			for _, r := range groups[name] {
				points = append(points, plotter.XY{X: x(r), Y: r.ours[q.name].mean})
				addErrorBar(p, x(r), r.ours[q.name], col)
				if paper, ok := r.paper[q.name]; ok && !r.extra() && !math.IsNaN(paper.mean) {
					marks = append(marks, plotter.XY{X: x(r), Y: paper.mean})
					addErrorBar(p, x(r), paper, grey)
				}
			}
			line, dots := addSeries(p, points, 2.2, col)
			if i == 0 {
				p.Legend.Add(name, line, dots)
			}
			if len(marks) > 0 {
				theirs = newDots(marks, draw.CrossGlyph{}, 4, grey)
				p.Add(newDots(marks, draw.CrossGlyph{}, 4, col))
			}
		}
		if i == 0 && theirs != nil {
			p.Legend.Add("paper", theirs)
		}
		if i == 0 {
			p.Y.Max += 0.4 * p.Y.Max // for the legend
		}
		p.Y.Min = min(0, p.Y.Min)
		panels = append(panels, p)
	}
	return panels
}

// oneScale gives all panels of a column the same vertical scale.
func oneScale(panels [][]*plot.Plot) {
	for j := range panels[0] {
		top := 0.0
		for _, line := range panels {
			top = max(top, line[j].Y.Max)
		}
		for _, line := range panels {
			line[j].Y.Max = top
		}
	}
}

// drawBoston draws the rows of the data set boston over the tolerance.
func drawBoston(rows []row, o options) error {
	panels := [][]*plot.Plot{curves("boston", "ε", rows, func(r row) float64 { return r.Epsilon }, func(r row) string { return r.Method })}
	return savePanels(o.paths("boston.png"), panels, vg.Points(1150), vg.Points(260))
}

// addErrorBar draws the standard error of a number, if there is one.
func addErrorBar(p *plot.Plot, x float64, e estimate, c color.Color) {
	if !math.IsNaN(e.se) {
		p.Add(&plotter.YErrorBars{
			XYs: plotter.XYs{{X: x, Y: e.mean}}, YErrors: plotter.YErrors{{Low: -e.se, High: e.se}},
			LineStyle: draw.LineStyle{Color: c, Width: vg.Points(1)}, CapWidth: plotter.DefaultCapWidth,
		})
	}
}
