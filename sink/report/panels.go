package report

import (
	"cmp"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/certify"
)

// progressPanel shows estimates during training and, as horizontal lines, certified bound and
// yardstick.
func (f Figure) progressPanel() panel {
	var bounds, risks []xy
	last, highest := 0.0, max(f.Bound, f.Baseline)
	for _, s := range f.Steps {
		bounds, risks = append(bounds, xy{s.Pass, s.Bound}), append(risks, xy{s.Pass, s.Risk})
		last, highest = max(last, s.Pass), max(highest, s.Bound)
	}
	if last == 0 {
		last = 1
	}
	if highest <= 0 {
		highest = 1
	}
	highest /= 0.72 // room for the legend above all lines
	p := panel{
		title: "The bound while training",
		x: axis{
			label: cmp.Or(f.Unit, "passes over the train rows"),
			hi:    last, ticks: ticks(6, 0, last),
		},
		y: axis{label: "risk", hi: highest, ticks: ticks(5, 0, min(1, highest)), grid: true},
	}
	across := func(y float64) []xy { return []xy{{0, y}, {last, y}} }
	for _, m := range []mark{
		{
			name: "yardstick: a constant", at: across(f.Baseline),
			color: faint, width: 1.1, dashes: []float64{4, 3},
		},
		{name: "estimated bound", at: bounds, color: blue, width: 2},
		{name: "estimated risk", at: risks, color: sky, width: 1.4},
		{
			name: "bound of a draw, B = " + certify.RoundUp(f.Bound, 4), at: across(f.Bound),
			color: green, width: 1.4, dashes: []float64{6, 3},
		},
	} {
		if len(m.at) > 0 { // a job certified from a stored model has no steps
			p.marks = append(p.marks, m)
		}
	}
	return p
}

// rowsPanel shows predictions against observations, on the same scale on both
// axes, with the tolerance as a band along the diagonal.
func (f Figure) rowsPanel() panel {
	name := cmp.Or(f.Target, "target")
	title := "Predicted and observed"
	if f.PointsTitle != "" {
		title += ": " + f.PointsTitle
	}
	lo, hi := f.span()
	within, outside := f.split()
	p := panel{
		title: title, left: true,
		x: axis{label: name + ", observed", lo: lo, hi: hi, ticks: ticks(5, lo, hi)},
		y: axis{label: name + ", predicted (mean of Q)", lo: lo, hi: hi, ticks: ticks(5, lo, hi)},
	}
	if f.Below > 0 || f.Above > 0 {
		p.marks = append(p.marks, mark{name: "tolerance " + f.tolerance(), color: band, at: f.band(lo, hi)})
	}
	p.marks = append(p.marks, mark{color: green, at: []xy{{lo, lo}, {hi, hi}}, width: 0.8})
	for _, m := range []mark{
		{name: "within", color: pale, at: within, radius: 1.5},
		{name: "outside", color: orange, at: outside, radius: 2},
	} {
		if n := len(m.at); n > 0 {
			m.name = fmt.Sprintf("%d %s", n, m.name)
			p.marks = append(p.marks, m)
		}
	}
	return p
}

// band is the outline of the tolerance, cut off at the axes.
func (f Figure) band(lo, hi float64) []xy {
	const parts = 512
	outline := make([]xy, 2*(parts+1))
	for i := range parts + 1 {
		x := lo + float64(i)/parts*(hi-lo)
		below, above := f.within(x)
		outline[i] = xy{x, max(lo, x-below)}
		outline[len(outline)-1-i] = xy{x, min(hi, x+above)}
	}
	return outline
}

// within returns how far below and above an observation a prediction may be.
func (f Figure) within(observed float64) (below, above float64) {
	if f.Relative {
		return f.Below * math.Abs(observed), f.Above * math.Abs(observed)
	}
	return f.Below, f.Above
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
func (f Figure) split() (within, outside []xy) {
	for _, p := range f.Points {
		at := xy{p.Observed, p.Predicted}
		below, above := f.within(p.Observed)
		if miss := p.Predicted - p.Observed; (f.Below > 0 || f.Above > 0) && !(-below <= miss && miss <= above) {
			outside = append(outside, at)
		} else {
			within = append(within, at)
		}
	}
	return within, outside
}

func (f Figure) tolerance() string {
	if f.Relative {
		return fmt.Sprintf("±%.3g %%", 100*f.Above)
	}
	if f.Below == f.Above {
		return fmt.Sprintf("±%.3g", f.Above)
	}
	return fmt.Sprintf("−%.3g … +%.3g", f.Below, f.Above)
}
