package main

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pacsgp/pacsgp/bench/measured"
)

// A promise is the bound of a certificate, and the risk on test rows: median shares of misses over the keys.
type promise struct{ bound, risk float64 }

// leastShown is drawn for every smaller share.
const leastShown = 1e-4

// promisePlot draws the promises of each set, from top to bottom: a line from the risk to the bound, which is a
// bar. The risk of draws is a ring, that of predictions a disc.
func promisePlot(sets []string, promises [][2]promise) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = "What a certificate promises (bar), and what new rows show (ring, disc)", "share of rows that are off by more than 0.6 standard deviations"
	p.Title.Padding = vg.Points(6)
	p.X.Scale, p.X.Min, p.X.Max = plot.LogScale{}, leastShown, 1
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 1e-4, Label: "0.01 %"}, {Value: 1e-3, Label: "0.1 %"}, {Value: 1e-2, Label: "1 %"}, {Value: 1e-1, Label: "10 %"}, {Value: 1, Label: "100 %"}}
	colours := []color.Color{color.NRGBA{0xd5, 0x5e, 0, 0xff}, color.NRGBA{0, 0x5f, 0x9e, 0xff}}
	for k, name := range []string{"a random draw", "predictions"} {
		var risks, bounds plotter.XYs
		for i, of := range promises {
			y := float64(len(sets)-1-i) + 0.2*(0.5-float64(k))
			risks, bounds = append(risks, plotter.XY{X: max(leastShown, of[k].risk), Y: y}), append(bounds, plotter.XY{X: of[k].bound, Y: y})
			p.Add(&plotter.Line{XYs: plotter.XYs{risks[i], bounds[i]}, LineStyle: draw.LineStyle{Color: colours[k], Width: vg.Points(1)}})
		}
		disc := &plotter.Scatter{XYs: risks, GlyphStyle: draw.GlyphStyle{Color: colours[k], Radius: vg.Points(3), Shape: []draw.GlyphDrawer{draw.RingGlyph{}, draw.CircleGlyph{}}[k]}}
		p.Add(disc, &plotter.Scatter{XYs: bounds, GlyphStyle: draw.GlyphStyle{Color: colours[k], Radius: vg.Points(4), Shape: bar{}}})
		p.Legend.Add(name, disc)
	}
	names := slices.Clone(sets)
	slices.Reverse(names)
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.5, float64(len(sets))-0.5
	p.Legend.Top, p.Legend.Left = true, true // the sets at the top have large shares
	return p
}

// A bar is a glyph: a vertical bar.
type bar struct{}

func (bar) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: s.Color, Width: vg.Points(2)}, at.X, at.Y-s.Radius, at.X, at.Y+s.Radius)
}

func save(p *plot.Plot, path string) error {
	c := vgimg.NewWith(vgimg.UseWH(20*vg.Centimeter, 11*vg.Centimeter), vgimg.UseDPI(80))
	p.Draw(draw.New(c))
	return measured.SavePNG(path, c)
}
