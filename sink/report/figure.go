package report

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Figure is the plot of one run. Left: the curve of errors, or the bound during training. Right:
// predictions against observations, with the tolerance as a band.
type Figure struct {
	Certificate certify.Certificate
	Steps       []job.Progress // of training
	Observed    []float64      // targets of prior rows, or of training rows if there are none, in raw units
	Predicted   []float64      // predictions of the same rows
}

// Size and margin of a figure, in points.
const (
	width  = 737
	height = 340
	edge   = 10
)

// Colours on white that colour-blind readers can distinguish, also in grey (Okabe and Ito, 2008).
var (
	grey   = color.NRGBA{R: 0x8a, G: 0x90, B: 0x99, A: 0xff}
	blue   = color.NRGBA{R: 0x00, G: 0x5f, B: 0x9e, A: 0xff}
	sky    = color.NRGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	orange = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	green  = color.NRGBA{R: 0x00, G: 0x7d, B: 0x5a, A: 0xff}
	pale   = color.NRGBA{R: 0x00, G: 0x5f, B: 0x9e, A: 0x90}
	band   = color.NRGBA{R: 0x00, G: 0x7d, B: 0x5a, A: 0x2a}
)

// WritePNG draws the figure. The same figure gives the same bytes.
func (f Figure) WritePNG(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	left := f.left()
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110))
	canvas := draw.New(img)
	top := vg.Length(height - 20)
	words := func(text string, size vg.Length) {
		style := left.Title.TextStyle
		style.Font.Size = size
		style.XAlign, style.YAlign = draw.XLeft, draw.YBottom
		if long := style.Width(text); long > width-2*edge {
			style.Font.Size = max(4, size*(width-2*edge)/long)
		}
		canvas.FillText(style, vg.Point{X: edge, Y: top}, text)
	}
	c := f.Certificate
	words(Headline(c, c.About(certify.PredictorMean)), 14)
	for _, line := range append([]string{Headline(c, c.About(certify.PredictorDraw))}, Warnings(c)...) {
		top -= 14
		words(line, 9)
	}
	const split = 0.54 * width
	left.Draw(draw.Crop(canvas, edge, split-width, edge, top-12-height))
	f.rows().Draw(draw.Crop(canvas, split+edge, -edge, edge, top-12-height))
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("report: write PNG: %w", err)
	}
	return nil
}

// left returns the left panel: the curve, else the bound during training.
func (f Figure) left() panel {
	if g, ok := f.Certificate.Claim(certify.ClaimCurve); ok && g.Curve != nil && len(g.Curve.Steps) > 0 {
		return f.curve(g)
	}
	return f.progress()
}

type panel struct{ *plot.Plot }

func newPanel(title, x, y string) panel {
	p := panel{plot.New()}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		f.Variant, f.Size = "Sans", 9
	}
	p.Title.TextStyle.Font.Size, p.Title.TextStyle.Font.Weight = 10.5, xfont.WeightBold
	p.Legend.Top = true
	return p
}

// line adds a line. If name is not "", it is in the legend.
func (p panel) line(name string, c color.Color, width vg.Length, dashes []vg.Length, at ...plotter.XY) {
	if len(at) == 0 {
		return
	}
	l := &plotter.Line{XYs: at, LineStyle: draw.LineStyle{Color: c, Width: width, Dashes: dashes}}
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
}

// dots adds dots, unless at is empty.
func (p panel) dots(name string, c color.Color, radius vg.Length, at plotter.XYs) {
	if len(at) == 0 {
		return
	}
	s := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}}
	p.Add(s)
	p.Legend.Add(name, s)
}

func (p panel) area(name string, outline plotter.XYs) {
	a := &plotter.Polygon{XYs: []plotter.XYs{outline}, Color: band}
	p.Add(a)
	if name != "" {
		p.Legend.Add(name, a)
	}
}

// limits sets the ranges of the axes, whatever the data.
func (p panel) limits(x0, x1, y0, y1 float64) panel {
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x0, x1, y0, y1
	return p
}

var dashed = []vg.Length{4, 3}

// progress shows the estimates while training; horizontal lines are certified bound and baseline.
func (f Figure) progress() panel {
	p := newPanel("The bound while training", "steps", "risk")
	var bounds, risks plotter.XYs
	claim := f.Certificate.About(certify.PredictorDraw)
	last, highest := float64(max(len(f.Steps), 1)), max(claim.Bound, claim.Baseline)
	for i, s := range f.Steps {
		x := float64(i + 1)
		bounds, risks, highest = append(bounds, plotter.XY{X: x, Y: s.Bound}), append(risks, plotter.XY{X: x, Y: s.Risk}), max(highest, s.Bound)
	}
	p.line("best constant", grey, 1.1, dashed, plotter.XY{Y: claim.Baseline}, plotter.XY{X: last, Y: claim.Baseline})
	p.line(map[bool]string{true: "estimate for independent rows", false: "estimated bound"}[f.Certificate.Counts.Units != nil], blue, 2, nil, bounds...) // empty if a stored model was certified
	p.line("estimated risk", sky, 1.4, nil, risks...)
	p.line("bound of a draw, B = "+words.RoundUp(claim.Bound, 4), green, 1.4, dashed, plotter.XY{Y: claim.Bound}, plotter.XY{X: last, Y: claim.Bound})
	return p.limits(0, last, 0, cmp.Or(highest, 1)/0.72) // room for the legend
}

// curve shows, at each tolerance, the share of held-out rows that are off by more, and the bound
// for new rows. A vertical line marks the job's own tolerance.
func (f Figure) curve(g certify.Claim) panel {
	p := newPanel("Off by more, at every tolerance at once", f.Certificate.Loss.Target+", tolerance", "share of rows")
	missed, bound := stairs(g)
	last, most := bound[len(bound)-1].X, bound[0].Y
	area := append(plotter.XYs{}, bound...)
	for i := range missed {
		area = append(area, missed[len(missed)-1-i])
	}
	p.area("", area)
	p.line("new rows, at most", green, 2, nil, bound...)
	p.line(words.Count(g.N, "held-out row"), blue, 1.4, nil, missed...)
	if own := f.Certificate.Loss.Epsilon; own <= last {
		p.line(fmt.Sprintf("tolerance %.3g", own), grey, 1.1, dashed, plotter.XY{X: own}, plotter.XY{X: own, Y: most})
	}
	return p.limits(0, last, 0, most)
}

// stairs returns the steps of a curve as two lines: shares of held-out rows, and bounds.
func stairs(g certify.Claim) (missed, bound plotter.XYs) {
	steps := g.Curve.Steps
	for i, s := range steps {
		end := 1.05 * s.Tolerance
		if i+1 < len(steps) {
			end = steps[i+1].Tolerance
		}
		k := float64(s.Misses) / float64(g.N)
		missed = append(missed, plotter.XY{X: s.Tolerance, Y: k}, plotter.XY{X: end, Y: k})
		bound = append(bound, plotter.XY{X: s.Tolerance, Y: s.Bound}, plotter.XY{X: end, Y: s.Bound})
	}
	return missed, bound
}

// rows shows predictions against observations, with equal axes and the tolerance as a band along the diagonal.
func (f Figure) rows() panel {
	name, which := f.Certificate.Loss.Target, "Prior rows"
	if f.Certificate.Counts.Prior == 0 {
		which = "Training rows"
	}
	p := newPanel("Predicted and observed: "+which, name+", observed", name+", predicted")
	p.Legend.Left = true
	lo, hi := f.span()
	if f.tolerates() {
		p.area("tolerance "+f.tolerance(), f.band(lo, hi))
	}
	p.line("", green, 0.8, nil, plotter.XY{X: lo, Y: lo}, plotter.XY{X: hi, Y: hi})
	within, outside := f.split()
	p.dots(fmt.Sprintf("%d within", len(within)), pale, 1.5, within)
	p.dots(fmt.Sprintf("%d outside", len(outside)), orange, 2, outside)
	return p.limits(lo, hi, lo, hi)
}

// band returns the outline of the tolerance band, cut off at the axes.
func (f Figure) band(lo, hi float64) plotter.XYs {
	const parts = 512
	outline := make(plotter.XYs, 2*(parts+1))
	for i := range parts + 1 {
		x := lo + float64(i)/parts*(hi-lo)
		below, above := f.within(x)
		outline[i] = plotter.XY{X: x, Y: max(lo, x-below)}
		outline[len(outline)-1-i] = plotter.XY{X: x, Y: min(hi, x+above)}
	}
	return outline
}

// tolerates reports whether the loss has a tolerance.
func (f Figure) tolerates() bool {
	below, above := f.tolerances()
	return below > 0 || above > 0
}

// tolerances returns both tolerances, in raw units or, for a relative loss, as shares.
func (f Figure) tolerances() (below, above float64) {
	l := f.Certificate.Loss
	return max(l.Epsilon, l.Below), max(l.Epsilon, l.Above)
}

// within returns how far a prediction may be below and above this observation, in raw units.
func (f Figure) within(observed float64) (below, above float64) {
	below, above = f.tolerances()
	if f.Certificate.Loss.Kind.Relative() {
		return below * math.Abs(observed), above * math.Abs(observed)
	}
	return below, above
}

// span returns the common range of both axes: all points and a margin.
func (f Figure) span() (lo, hi float64) {
	if len(f.Observed) == 0 {
		return 0, 1
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for i, y := range f.Observed {
		lo, hi = min(lo, y, f.Predicted[i]), max(hi, y, f.Predicted[i])
	}
	edge := 0.04 * (hi - lo)
	if !(edge > 0) {
		edge = max(1, math.Abs(hi)) / 2
	}
	return lo - edge, hi + edge
}

// split divides the points by the tolerance. Without a tolerance all are within.
func (f Figure) split() (within, outside plotter.XYs) {
	for i, y := range f.Observed {
		at := plotter.XY{X: y, Y: f.Predicted[i]}
		below, above := f.within(y)
		if miss := at.Y - y; f.tolerates() && !(-below <= miss && miss <= above) {
			outside = append(outside, at)
		} else {
			within = append(within, at)
		}
	}
	return within, outside
}

func (f Figure) tolerance() string {
	below, above := f.tolerances()
	switch {
	case f.Certificate.Loss.Kind.Relative():
		return fmt.Sprintf("±%.3g %%", 100*above)
	case below == above:
		return fmt.Sprintf("±%.3g", above)
	}
	return fmt.Sprintf("−%.3g … +%.3g", below, above)
}

func (f Figure) check() (err error) {
	for _, s := range f.Steps {
		err = cmp.Or(err, plotter.CheckFloats(s.Bound, s.Risk))
	}
	for i, y := range f.Observed {
		err = cmp.Or(err, plotter.CheckFloats(y, f.Predicted[i]))
	}
	if err != nil {
		return fmt.Errorf("report: a number of the figure is NaN or infinite: %w", err)
	}
	return nil
}
