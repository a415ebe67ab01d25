package main

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/pacsgp/pacsgp/model"
)

// A snelson is the figure of the rows in one dimension.
type snelson struct {
	rows    model.Rows
	lo, hi  float64
	noise   float64    // of the full GP
	full    curve      // of it
	records [][]string // what the figure says, in numbers
}

// add records the result of a method.
func (s *snelson) add(method string, ratio, epsilon float64, t *model.Collapsed) {
	p, n2 := t.Progress(), 0.0
	n2, _ = t.Noise()
	text := []string{method}
	for _, v := range []float64{ratio, epsilon, p.Bound, p.Risk, p.KL / float64(s.rows.Len()), n2} {
		text = append(text, strconv.FormatFloat(v, 'g', 6, 64))
	}
	s.records = append(s.records, append(text, strconv.Itoa(t.Evaluations())))
}

// panel draws a posterior beside the full GP, with its tolerance, if there is one, and the
// noise of its own.
func (s *snelson) panel(title string, t *model.Collapsed, p *model.Posterior, epsilon float64, col color.NRGBA, own float64) (*plot.Plot, error) {
	fig := plot.New()
	fig.Title.Text, fig.X.Label.Text, fig.Y.Label.Text = title, "x", "y"
	if err := s.full.addBand(fig, color.NRGBA{0x80, 0x80, 0x80, 0xff}, s.noise); err != nil {
		return nil, err
	}
	found, err := predict(p, s.lo, s.hi)
	if err != nil {
		return nil, err
	}
	if err := found.addBand(fig, col, own); err != nil {
		return nil, err
	}
	if epsilon > 0 {
		for _, side := range []float64{-1, 1} {
			var edge plotter.XYs
			for i, x := range found.x {
				edge = append(edge, plotter.XY{X: x, Y: found.mean[i] + side*epsilon})
			}
			line, err := plotter.NewLine(edge)
			if err != nil {
				return nil, err
			}
			line.Color, line.Dashes = col, []vg.Length{vg.Points(3), vg.Points(3)}
			fig.Add(line)
		}
	}
	if err := addRows(fig, s.rows, t.StartInducing(), 3.1, color.NRGBA{0x80, 0x80, 0x80, 0xff}); err != nil {
		return nil, err
	}
	if err := addRows(fig, model.Rows{Dim: 1}, within(p.Z, s.lo, s.hi), -3.1, col); err != nil {
		return nil, err
	}
	fig.X.Min, fig.X.Max, fig.Y.Min, fig.Y.Max = s.lo, s.hi, -3.4, 3.4 // adding has made room for more
	return fig, nil
}

// inducingOfSnelson is the number of inducing points of the figure.
const inducingOfSnelson = 15

// scan fits kl-PAC-SGP for tolerances, given in standard deviations of the noise, and draws
// three of them; the points are KL/N over the tolerance.
func (s *snelson) scan(ctx context.Context, o options) (panels []*plot.Plot, points plotter.XYs, err error) {
	for _, ratio := range []float64{0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6} {
		epsilon := ratio * math.Sqrt(s.noise)
		c, err := paperConfig(s.rows, epsilon, inducingOfSnelson, o.evaluations)
		if err != nil {
			return nil, nil, err
		}
		t, p, err := fitCollapsed(ctx, c, s.rows)
		if err != nil {
			return nil, nil, err
		}
		s.add("kl-PAC-SGP", ratio, epsilon, t)
		g := t.Progress()
		points = append(points, plotter.XY{X: ratio, Y: g.KL / float64(s.rows.Len())})
		if slices.Contains([]float64{1, 2, 5}, ratio) {
			title := fmt.Sprintf("kl-PAC-SGP, ε = %g σ_n: B %.3f, KL/N %.3f", ratio, g.Bound, g.KL/float64(s.rows.Len()))
			fig, err := s.panel(title, t, p, epsilon, palette[len(panels)%len(palette)], 0)
			if err != nil {
				return nil, nil, err
			}
			panels = append(panels, fig)
		}
	}
	return panels, points, nil
}

// baselines draws FITC and VFE.
func (s *snelson) baselines(ctx context.Context, o options) (panels []*plot.Plot, err error) {
	for _, b := range []struct {
		name      string
		objective model.Objective
		alpha     float64
	}{{"FITC", model.Evidence, 1}, {"VFE", model.EvidenceBound, 0}} {
		c, err := paperConfig(s.rows, 2*math.Sqrt(s.noise), inducingOfSnelson, o.evaluations)
		if err != nil {
			return nil, err
		}
		c.Objective, c.Alpha = b.objective, b.alpha
		t, p, err := fitCollapsed(ctx, c, s.rows)
		if err != nil {
			return nil, err
		}
		s.add(b.name, 2, 2*math.Sqrt(s.noise), t)
		n2, _ := t.Noise()
		fig, err := s.panel(fmt.Sprintf("%s: bound at ε = 2 σ_n %.3f", b.name, t.Progress().Bound), t, p, 0, palette[len(panels)+1], n2)
		if err != nil {
			return nil, err
		}
		panels = append(panels, fig)
	}
	return panels, nil
}

// runSnelson draws the predictive distributions of kl-PAC-SGP for three tolerances beside
// the full GP, and of FITC and VFE, and scans KL/N over the tolerance. The paper does not
// say which three tolerances its figure has: KL/N of .097, .109 and .031 tells.
func runSnelson(ctx context.Context, o options) error {
	rows, err := snelsonRows(ctx, o, 1)
	if err != nil {
		return err
	}
	s := &snelson{rows: rows, lo: slices.Min(rows.X) - 0.7, hi: slices.Max(rows.X) + 0.7}
	c, err := paperConfig(rows, 0.6, 0, o.evaluations)
	if err != nil {
		return err
	}
	c.Objective, c.Exact = model.Evidence, true
	full, posterior, err := fitCollapsed(ctx, c, rows)
	if err != nil {
		return err
	}
	s.noise, _ = full.Noise()
	if s.full, err = predict(posterior, s.lo, s.hi); err != nil {
		return err
	}
	s.records = [][]string{{"method", "epsilon_over_sigma_n", "epsilon", "bound", "risk", "kl_per_n", "noise_variance", "gradients"}}
	s.add("full-GP", 0.6/math.Sqrt(s.noise), 0.6, full)
	panels, points, err := s.scan(ctx, o)
	if err != nil {
		return err
	}
	others, err := s.baselines(ctx, o)
	if err != nil {
		return err
	}
	scanned, err := scanPanel(points)
	if err != nil {
		return err
	}
	return writeFigure("snelson", s.records, s.records, [][]*plot.Plot{panels, append(others, scanned)}, 900, 520, o)
}
