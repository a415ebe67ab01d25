package report

import (
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"

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
	Relative     bool    // Below and Above are shares of |observed|
}

// Size of a figure, in points.
const (
	width  = 737
	height = 340
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
	pale   = color.NRGBA{R: 0x00, G: 0x5f, B: 0x9e, A: 0x90}
	band   = color.NRGBA{R: 0x00, G: 0x7d, B: 0x5a, A: 0x2a}
)

// WritePNG draws the figure. The same figure gives the same bytes.
func (f Figure) WritePNG(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	c, err := newCanvas(width, height)
	if err != nil {
		return err
	}
	f.draw(c)
	if err := png.Encode(w, c.picture); err != nil {
		return fmt.Errorf("report: write PNG: %w", err)
	}
	return nil
}

func (f Figure) draw(c *canvas) {
	const margin, room = 17, width - 2*17
	c.write(headline, f.Title, xy{margin, 26}, 0, room)
	top := 42.0
	for _, words := range f.Subtitles {
		c.write(subtitle, words, xy{margin, top}, 0, room)
		top += 14
	}
	left := f.progressPanel
	if f.Groups != nil {
		left = f.groupsPanel
	}
	if f.Curve != nil && len(f.Curve.Steps) > 0 {
		left = f.curvePanel
	}
	const split = margin + 0.54*room
	left().draw(c, xy{margin, top}, xy{split - margin/2, height - 7})
	f.rowsPanel().draw(c, xy{split + margin/2, top}, xy{width - margin, height - 7})
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
