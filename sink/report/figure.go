package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pacsgp/pacsgp/certify"
)

// A Step is the state of training at one time.
type Step struct {
	Pass  float64 // progress of training, in the unit of [Figure.Unit]
	Bound float64 // estimate of the bound, in [0, 1]
	Risk  float64 // estimate of the empirical risk, in [0, 1]
}

// A Point is one row: its target and the mean of Q, in raw units.
type Point struct {
	Observed  float64
	Predicted float64
}

// A Figure is the plot of one run: the bound during training, the bounds of groups or the curve of errors,
// and predictions against observations with the tolerance as a band.
type Figure struct {
	Title     string   // the certified statement, in one line
	Subtitles []string // a line each
	Target    string   // name of the target, for the axes

	Steps    []Step
	Unit     string  // of Step.Pass; "" means passes over the train rows
	Bound    float64 // certified, for a draw of Q
	Baseline float64 // the bound of the yardstick

	// Curve replaces the plot of training if it has steps. It is from Held hold-out examples, rows or units,
	// and states its bound at the tolerance of CurveLoss.
	Curve     *certify.Curve
	CurveLoss certify.TargetLoss
	Held      int64
	Example   string // row or unit
	// Groups replace the plot of training if there is no curve.
	Groups *certify.Groups

	Points       []Point
	PointsTitle  string  // names the rows of Points
	Below, Above float64 // tolerance, raw units: no loss if −Below ≤ predicted − observed ≤ Above; 0, 0 means no band
}

// Size of a figure on paper, and the resolution of its PNG.
const (
	width      = 26 * vg.Centimeter
	height     = 12 * vg.Centimeter
	resolution = 110 // dots an inch
)

// Colours on white that colour-blind readers can distinguish, also in grey (Okabe and Ito, 2008).
var (
	ink    = color.NRGBA{R: 0x22, G: 0x26, B: 0x2d, A: 0xff}
	faint  = color.NRGBA{R: 0x8a, G: 0x90, B: 0x99, A: 0xff}
	slate  = color.NRGBA{R: 0x5b, G: 0x63, B: 0x6e, A: 0xff}
	rule   = color.NRGBA{R: 0xe6, G: 0xe8, B: 0xeb, A: 0xff}
	blue   = color.NRGBA{R: 0x00, G: 0x5f, B: 0x9e, A: 0xff}
	sky    = color.NRGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	orange = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	green  = color.NRGBA{R: 0x00, G: 0x7d, B: 0x5a, A: 0xff}
)

// WritePNG draws the figure. The same figure gives the same bytes.
func (f Figure) WritePNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution))
	if err := f.draw(draw.New(c)); err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(w); err != nil {
		return fmt.Errorf("report: write PNG: %w", err)
	}
	return nil
}

func (f Figure) draw(c draw.Canvas) error {
	if err := f.check(); err != nil {
		return err
	}
	c.SetColor(color.White)
	c.Fill(c.Path())
	const line = 14 // points
	head := 1.65*vg.Centimeter + line*vg.Length(max(0, len(f.Subtitles)-1))
	margin := 0.6 * vg.Centimeter
	inner := draw.Crop(c, margin, -margin, margin*0.6, -margin*0.7)
	writeAt(inner, vg.Point{X: inner.Min.X, Y: inner.Max.Y}, f.Title, 14, ink, true)
	for i, text := range f.Subtitles {
		writeAt(inner, vg.Point{X: inner.Min.X, Y: inner.Max.Y - 20 - line*vg.Length(i)}, text, 9.5, slate, false)
	}
	body := draw.Crop(inner, 0, 0, 0, -head)
	split := (body.Max.X - body.Min.X) * 0.54
	left := f.progressPanel
	if f.Groups != nil {
		left = f.groupsPanel
	}
	if f.Curve != nil && len(f.Curve.Steps) > 0 {
		left = f.curvePanel
	}
	left().Draw(draw.Crop(body, 0, split-(body.Max.X-body.Min.X)-margin/2, 0, 0))
	f.rowsPanel().Draw(draw.Crop(body, split+margin/2, 0, 0, 0))
	return nil
}

// check returns an error for numbers that a plot cannot show.
func (f Figure) check() error {
	numbers := []float64{f.Bound, f.Baseline, f.Below, f.Above}
	for _, s := range f.Steps {
		numbers = append(numbers, s.Pass, s.Bound, s.Risk)
	}
	for _, p := range f.Points {
		numbers = append(numbers, p.Observed, p.Predicted)
	}
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("report: a number of the figure is NaN or infinite")
		}
	}
	if f.Below < 0 || f.Above < 0 {
		return fmt.Errorf("report: tolerance −%v, +%v, want two numbers of at least 0", f.Below, f.Above)
	}
	return nil
}

// face is the typeface of the whole figure.
func face(size vg.Length, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return f
}

func style(size vg.Length, c color.Color, bold bool) text.Style {
	return text.Style{Color: c, Font: face(size, bold), Handler: plot.DefaultTextHandler, YAlign: text.YTop}
}

// writeAt writes one line below and right of a point, smaller if it would not fit.
func writeAt(c draw.Canvas, at vg.Point, words string, size vg.Length, col color.Color, bold bool) {
	s := style(size, col, bold)
	if room, need := c.Max.X-at.X, s.Width(words); need > room {
		s = style(max(size*room/need, 4), col, bold)
	}
	c.FillText(s, at, words)
}

// newPanel returns an empty plot in the figure's style.
func newPanel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.Title.Text = title
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = face(10.5, true), ink
	p.Title.Padding = 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Label.TextStyle.Color = face(9.5, false), ink
		a.Label.Padding = 4
		a.Tick.Label.Font, a.Tick.Label.Color = face(9, false), ink
		a.Color, a.Tick.Color = faint, faint
		a.Width, a.Tick.Width = 0.6, 0.6
		a.Tick.Length = 3
		a.Padding = 0
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Legend.TextStyle.Font, p.Legend.TextStyle.Color = face(9, false), ink
	p.Legend.ThumbnailWidth = 18
	p.Legend.Padding = 3
	return p
}
