package console

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// A Chart shows the bounds of a series in its order, in SVG. The style sheet colours its shapes by class;
// statuses also differ in shape.
type Chart struct {
	ID            string // of its elements
	Title, Words  string // for screen readers
	Width, Height int
	Marks         []Mark
	Lines         []Line
	XTicks        []Tick
	YTicks        []Tick
	Bottom        float64 // edges of the plot, in SVG's coordinates
	Left, Right   float64
	Legend        []Legend
}

// A Mark is a certificate. Path is the shape of its status.
type Mark struct{ Path, Class, Title string }

// A Line joins the numbers of certificates.
type Line struct{ Path, Class string }

// A Tick is a number at an axis.
type Tick struct {
	At    float64
	Label string
	End   string // text-anchor
}

// A Legend is a mark or a line with its name.
type Legend struct{ Path, Class, Name string }

// mostMarks is the largest number of marks that can be distinguished in a chart.
const mostMarks = 240

// drawChart draws the certificates of all, at least one, the latest first.
func drawChart(id string, all []*Entry, predictor certify.Predictor, current map[string]bool) Chart {
	c := Chart{ID: id, Width: 520, Height: 270, Left: 48, Right: 512, Bottom: 236}
	points := thinned(all, predictor, current)
	c.Title = "Bounds for the " + titles[predictor]
	first, last := points[0], points[len(points)-1]
	c.Words = fmt.Sprintf("%s, from %s to %s. The latest bound is %s, %s. The table below has all numbers.",
		certify.Count(len(all), "certificate"), first.When(), last.When(), certify.PercentUp(about(last, predictor).Bound), about(last, predictor).Status)
	most := 0.0
	for _, e := range points {
		most = max(most, about(e, predictor).Bound, e.Against)
		if predictor == certify.PredictorMean && e.Kept != nil {
			most = max(most, e.Kept.Bound)
		}
	}
	top := 14.0
	step := roundStep(most / 4)
	highest := step * math.Ceil(max(most, step)/step-1e-9)
	y := func(v float64) float64 { return c.Bottom - (c.Bottom-top)*v/highest }
	for v := 0.0; v <= highest+step/2; v += step {
		c.YTicks = append(c.YTicks, Tick{At: round(y(v)), Label: strconv.FormatFloat(100*v, 'g', 3, 64) + " %"})
	}
	x := axis(&c, points)
	line := func(class string, number func(e *Entry) float64) {
		var path polyline
		for i, e := range points {
			path.to(x(i), y(number(e)))
		}
		if len(points) == 1 && class != "bound" { // one point makes no line: draw it across the chart
			at := y(number(first))
			path.Reset()
			path.to(c.Left, at)
			path.to(c.Right, at)
		}
		c.Lines = append(c.Lines, Line{path.String(), class})
	}
	line("yardstick", func(e *Entry) float64 { return e.Against })
	if predictor == certify.PredictorDraw {
		line("risk", func(e *Entry) float64 { return e.Draw.Risk })
	}
	line("bound", func(e *Entry) float64 { return about(e, predictor).Bound })
	kept, marked := false, false
	for i, e := range points {
		at := x(i)
		if current[e.ID] {
			c.Marks, marked = append(c.Marks, Mark{ring(at, y(about(e, predictor).Bound), 8), "ring", "current: " + e.When()}), true
		}
		mark := func(a About) {
			c.Marks = append(c.Marks, Mark{
				shape(a.Status, at, y(a.Bound)), string(a.Status),
				fmt.Sprintf("%s: %s, bound %s", e.When(), a.Status, certify.PercentUp(a.Bound)),
			})
		}
		mark(about(e, predictor))
		if predictor == certify.PredictorMean && e.Kept != nil {
			mark(*e.Kept)
			kept = true
		}
	}
	c.legend(predictor, kept, marked)
	return c
}

// titles name predictors as the glossary does.
var titles = map[certify.Predictor]string{certify.PredictorMean: "mean", certify.PredictorDraw: "draw"}

// about returns the main guarantee of a certificate about a predictor.
func about(e *Entry, predictor certify.Predictor) About {
	if predictor == certify.PredictorMean {
		return e.Mean
	}
	return e.Draw
}

// thinned returns at most mostMarks certificates, the latest last: of each group of neighbours the
// current one, or that with the highest bound.
func thinned(all []*Entry, predictor certify.Predictor, current map[string]bool) []*Entry {
	groups := min(len(all), mostMarks)
	var points []*Entry
	for i := range groups {
		from, to := len(all)*i/groups, len(all)*(i+1)/groups
		worst := all[from]
		for _, e := range all[from:to] {
			if current[e.ID] || !current[worst.ID] && about(e, predictor).Bound > about(worst, predictor).Bound {
				worst = e
			}
		}
		points = append(points, worst)
	}
	slices.Reverse(points)
	return points
}

// axis sets the ticks of the axis of certificates, and returns the place of certificate i on it.
func axis(c *Chart, points []*Entry) func(i int) float64 {
	const inset = 12
	left, width := c.Left+inset, c.Right-c.Left-2*inset
	if len(points) == 1 {
		c.XTicks = []Tick{{At: left + width/2, Label: points[0].When(), End: "middle"}}
		return func(int) float64 { return left + width/2 }
	}
	c.XTicks = []Tick{{c.Left, points[0].When(), "start"}, {c.Right, points[len(points)-1].When(), "end"}}
	return func(i int) float64 { return left + width*float64(i)/float64(len(points)-1) }
}

// legend names the shapes.
func (c *Chart) legend(predictor certify.Predictor, kept, current bool) {
	for _, s := range []certify.Status{certify.StatusCertified, certify.StatusConditional, certify.StatusVacuous, certify.StatusIndicative} {
		if s != certify.StatusConditional || kept {
			c.Legend = append(c.Legend, Legend{shape(s, 12, 8), string(s), "bound, " + string(s)})
		}
	}
	if predictor == certify.PredictorDraw {
		c.Legend = append(c.Legend, Legend{"M2 8L22 8", "line risk", "empirical risk"})
	}
	c.Legend = append(c.Legend, Legend{"M2 8L22 8", "line yardstick", "yardstick"})
	if current {
		c.Legend = append(c.Legend, Legend{ring(12, 8, 6), "ring", "current"})
	}
}

// ring surrounds a mark.
func ring(x, y, r float64) string {
	return fmt.Sprintf("M%.1f %.1fa%[3]v %[3]v 0 1 0 %[4]v 0a%[3]v %[3]v 0 1 0 -%[4]v 0z", x-r, y, r, 2*r)
}

// shape returns the mark of a status at a point: a disc, a diamond, a triangle or a cross.
func shape(s certify.Status, x, y float64) string {
	switch s {
	case certify.StatusCertified:
		return fmt.Sprintf("M%.1f %.1fa5 5 0 1 0 10 0a5 5 0 1 0 -10 0z", x-5, y)
	case certify.StatusConditional:
		return fmt.Sprintf("M%.1f %.1fl6 6l-6 6l-6 -6z", x, y-6)
	case certify.StatusVacuous:
		return fmt.Sprintf("M%.1f %.1fl6 10h-12z", x, y-6)
	case certify.StatusIndicative:
	}
	return fmt.Sprintf("M%.1f %.1fl10 10m0 -10l-10 10", x-5, y-5)
}

// roundStep returns the least of 1, 2, 2.5, 5 times a power of ten that is at least x.
func roundStep(x float64) float64 {
	if !(x > 0) {
		return 0.25
	}
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= x {
			return m * unit
		}
	}
	return 10 * unit
}

func round(x float64) float64 { return math.Round(10*x) / 10 }

func day(t time.Time) string { return t.Format("2006-01-02") }

func clock(t time.Time) string { return t.Format("15:04") }

func minute(t time.Time) string { return t.Format("2006-01-02 15:04") }
