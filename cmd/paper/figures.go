package main

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/pacsgp/pacsgp/internal/durable"
)

var (
	palette = []color.NRGBA{{0x1f, 0x5f, 0xa8, 0xff}, {0xc4, 0x4e, 0x1e, 0xff}, {0x3a, 0x8a, 0x4a, 0xff}, {0x7a, 0x4f, 0xa3, 0xff}}
	grey    = color.NRGBA{0x80, 0x80, 0x80, 0xff}
	dashes  = []vg.Length{vg.Points(3), vg.Points(3)}
)

func faint(c color.NRGBA) color.NRGBA {
	c.A = 0x30
	return c
}

// saveBoth writes panels side by side as PNG and SVG.
func saveBoth(path string, panels [][]*plot.Plot, width, height vg.Length) error {
	drawOn := func(c vg.CanvasSizer) {
		canvas := draw.New(c)
		tiles := draw.Tiles{Rows: len(panels), Cols: len(panels[0]), PadX: vg.Points(14), PadY: vg.Points(14), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(6)}
		cells := plot.Align(panels, tiles, canvas)
		for i, line := range panels {
			for j, p := range line {
				if p != nil {
					p.Draw(cells[i][j])
				}
			}
		}
	}
	image := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))
	drawOn(image)
	vector := vgsvg.New(width, height)
	drawOn(vector)
	return errors.Join(store(path+".png", vgimg.PngCanvas{Canvas: image}), store(path+".svg", vector))
}

// store writes a picture to a file.
func store(path string, picture io.WriterTo) error {
	file, err := durable.Create(durable.OS{}, path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if _, err := picture.WriteTo(file); err != nil {
		return err
	}
	return file.Commit()
}

// The parts of panels are made without the plotter's constructors, which return errors about
// points that are NaN: there are none, or their rows have been left out.

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

// addSeries joins points by a line.
func addSeries(p *plot.Plot, points plotter.XYs, radius float64, c color.Color) (*plotter.Line, *plotter.Scatter) {
	line, dots := newLine(points, c), newDots(points, draw.CircleGlyph{}, radius, c)
	p.Add(line, dots)
	return line, dots
}

// grouped are rows by a title, and the titles in their order.
func grouped(rows []row, title func(r row) string) (order []string, groups map[string][]row) {
	groups = map[string][]row{}
	for _, r := range rows {
		key := title(r)
		if r.ARD {
			key += ", ARD"
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	return order, groups
}

// drawBars draws the bounds of a table as bars, one panel a data set and tolerance, the
// paper's numbers as marks.
func drawBars(name string, rows []row, out string) error {
	order, groups := grouped(rows, func(r row) string { return fmt.Sprintf("%s, ε = %g", r.Dataset, r.Epsilon) })
	if len(order) == 0 {
		return nil
	}
	var line []*plot.Plot
	for i, key := range order {
		line = append(line, barPanel(key, groups[key], i == 0))
	}
	return saveBoth(filepath.Join(out, name), [][]*plot.Plot{line}, vg.Length(len(line))*vg.Points(230), vg.Points(300))
}

// barPanel draws the bounds of one data set and tolerance; the first panel has the words.
func barPanel(title string, rows []row, first bool) *plot.Plot {
	p := newPanel(title, "", "")
	if first {
		p.Y.Label.Text = "bound B; dark: training risk"
	}
	p.Y.Min, p.Y.Max = 0, 0
	var labels []string
	var marks plotter.XYs
	for i, r := range rows {
		label := r.Method
		if r.Alpha >= 0 {
			label += fmt.Sprintf(", α %g", r.Alpha)
		}
		if r.Method == freeForm && r.Inducing > 0 {
			label += fmt.Sprintf(", M %d", r.Inducing)
		}
		labels = append(labels, label)
		bound, risk := r.ours["B"].mean, r.ours["R_train"].mean
		p.Add(
			&plotter.BarChart{Values: plotter.Values{bound}, Width: vg.Points(16), XMin: float64(i), Color: color.NRGBA{0x9c, 0xb8, 0xd8, 0xff}},
			&plotter.BarChart{Values: plotter.Values{risk}, Width: vg.Points(16), XMin: float64(i), Color: palette[0]},
		)
		p.Y.Max = max(p.Y.Max, 1.15*bound, 1.15*risk)
		if v := r.paper["B"].mean; !math.IsNaN(v) && r.Method != freeForm {
			marks = append(marks, plotter.XY{X: float64(i), Y: v})
			p.Y.Max = max(p.Y.Max, 1.15*v)
		}
	}
	if len(marks) > 0 {
		dots := newDots(marks, draw.CrossGlyph{}, 4, palette[1])
		p.Add(dots)
		if first {
			p.Legend.Add("paper", dots)
		}
	}
	p.NominalX(labels...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/5, draw.XRight, draw.YCenter
	return p
}
