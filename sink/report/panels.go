package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pacsgp/pacsgp/certify"
)

// progressPanel shows estimates during training and, as horizontal lines, certified bound and
// yardstick.
func (f Figure) progressPanel() *plot.Plot {
	p := newPanel("The bound while training", cmp.Or(f.Unit, "passes over the train rows"), "risk")
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color, grid.Horizontal.Width = rule, 0.7
	p.Add(grid)
	bounds, risks := make(plotter.XYs, len(f.Steps)), make(plotter.XYs, len(f.Steps))
	last, highest := 0.0, max(f.Bound, f.Baseline)
	for i, s := range f.Steps {
		bounds[i], risks[i] = plotter.XY{X: s.Pass, Y: s.Bound}, plotter.XY{X: s.Pass, Y: s.Risk}
		last, highest = max(last, s.Pass), max(highest, s.Bound)
	}
	if last == 0 {
		last = 1
	}
	across := func(y float64) plotter.XYs { return plotter.XYs{{X: 0, Y: y}, {X: last, Y: y}} }
	for _, l := range []struct {
		name  string
		xys   plotter.XYs
		style draw.LineStyle
	}{
		{"yardstick: a constant", across(f.Baseline), stroke(faint, 1.1, 4, 3)},
		{"estimated bound", bounds, stroke(blue, 2)},
		{"estimated risk", risks, stroke(sky, 1.4)},
		{"bound of a draw, B = " + certify.RoundUp(f.Bound, 4), across(f.Bound), stroke(green, 1.4, 6, 3)},
	} {
		if len(l.xys) > 0 { // a job certified from a stored model has no steps
			line := &plotter.Line{XYs: l.xys, LineStyle: l.style}
			p.Add(line)
			p.Legend.Add(l.name, line)
		}
	}
	p.Legend.Top = true
	p.Legend.XOffs, p.Legend.YOffs = -4, -4
	p.X.Min, p.X.Max = 0, last
	if highest <= 0 {
		highest = 1
	}
	p.Y.Min, p.Y.Max = 0, highest/0.72 // room for the legend above all lines
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(6, last), ticks(5, min(1, p.Y.Max))
	return p
}

// rowsPanel shows predictions against observations, on the same scale on both
// axes, with the tolerance as a band along the diagonal.
func (f Figure) rowsPanel() *plot.Plot {
	name := cmp.Or(f.Target, "target")
	title := "Predicted and observed"
	if f.PointsTitle != "" {
		title += ": " + f.PointsTitle
	}
	p := newPanel(title, name+", observed", name+", predicted (mean of Q)")
	lo, hi := f.span()
	within, outside := f.split()
	if f.Below > 0 || f.Above > 0 {
		below, above := min(f.Below, hi-lo), min(f.Above, hi-lo)
		band := &plotter.Polygon{Color: color.NRGBA{R: 0x00, G: 0x7d, B: 0x5a, A: 0x2a}, XYs: []plotter.XYs{{ // cut off at the axes
			{X: lo, Y: lo}, {X: lo + below, Y: lo}, {X: hi, Y: hi - below}, {X: hi, Y: hi}, {X: hi - above, Y: hi}, {X: lo, Y: lo + above},
		}}}
		p.Add(band)
		p.Legend.Add("tolerance "+f.tolerance(), band)
	}
	p.Add(&plotter.Line{XYs: plotter.XYs{{X: lo, Y: lo}, {X: hi, Y: hi}}, LineStyle: stroke(green, 0.8)})
	for _, group := range []struct {
		name   string
		xys    plotter.XYs
		color  color.Color
		radius vg.Length
	}{
		{"within", within, color.NRGBA{R: 0x00, G: 0x5f, B: 0x9e, A: 0x90}, 1.5},
		{"outside", outside, orange, 2},
	} {
		if len(group.xys) > 0 {
			scatter := &plotter.Scatter{XYs: group.xys, GlyphStyle: draw.GlyphStyle{Color: group.color, Radius: group.radius, Shape: draw.CircleGlyph{}}}
			p.Add(scatter)
			p.Legend.Add(fmt.Sprintf("%d %s", len(group.xys), group.name), scatter)
		}
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = 6, -4
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, lo, hi
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(5, hi), ticks(5, hi)
	return p
}

// span returns the common range of the axes: all points, and a margin.
func (f Figure) span() (lo, hi float64) {
	if len(f.Points) == 0 {
		return 0, 1
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range f.Points {
		lo, hi = min(lo, p.Observed, p.Predicted), max(hi, p.Observed, p.Predicted)
	}
	margin := 0.04 * (hi - lo)
	if !(margin > 0) {
		margin = max(1, math.Abs(hi)) / 2
	}
	return lo - margin, hi + margin
}

// split divides the points by the tolerance. Without a tolerance all are within.
func (f Figure) split() (within, outside plotter.XYs) {
	for _, p := range f.Points {
		at := plotter.XY{X: p.Observed, Y: p.Predicted}
		if miss := p.Predicted - p.Observed; (f.Below > 0 || f.Above > 0) && !(-f.Below <= miss && miss <= f.Above) {
			outside = append(outside, at)
		} else {
			within = append(within, at)
		}
	}
	return within, outside
}

func (f Figure) tolerance() string {
	if f.Below == f.Above {
		return fmt.Sprintf("±%.3g", f.Above)
	}
	return fmt.Sprintf("−%.3g … +%.3g", f.Below, f.Above)
}

// ticks returns about n round numbers up to most, with as many digits as their distance needs.
func ticks(n int, most float64) plot.Ticker {
	return plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		raw := (hi - lo) / float64(n)
		if !(raw > 0) || math.IsInf(raw, 0) {
			return []plot.Tick{{Value: lo, Label: fmt.Sprintf("%g", lo)}}
		}
		unit := math.Pow(10, math.Floor(math.Log10(raw)))
		step := 10 * unit
		for _, s := range []float64{1, 2, 5} {
			if s*unit >= raw {
				step = s * unit
				break
			}
		}
		digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
		var marks []plot.Tick
		for i := math.Ceil(lo / step); i*step <= min(hi, most)+1e-9*step && len(marks) < 4*n; i++ {
			marks = append(marks, plot.Tick{Value: i * step, Label: label(i*step, digits)})
		}
		return marks
	})
}

func label(x float64, digits int) string {
	if x == 0 {
		return "0" // not −0
	}
	if s := fmt.Sprintf("%.*f", min(digits, 12), x); len(s) <= 8 {
		return s
	}
	return fmt.Sprintf("%.3g", x)
}

func stroke(c color.Color, w vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: dashes}
}
