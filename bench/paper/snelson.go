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
	"gonum.org/v1/plot/vg/draw"

	"github.com/pacsgp/pacsgp/model"
)

// A snelson makes the figure of the one-dimensional data set.
type snelson struct {
	options

	rows    model.Rows
	lo, hi  float64    // range of x
	noise   float64    // standard deviation of the full GP's noise
	full    curve      // the full GP's
	records [][]string // the numbers of the figure
}

// fit fits a method for a tolerance, and records the result. The full GP must come first.
func (s *snelson) fit(ctx context.Context, method string, epsilon float64) (*model.Collapsed, *model.Posterior, error) {
	u := unit{Method: method, Epsilon: epsilon, Inducing: 15}
	if method == "full-GP" {
		u.Inducing = 0
	}
	t, p, err := u.fitCurve(ctx, s.rows, s.options, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	if method == "full-GP" {
		s.noise = math.Sqrt(t.Noise())
	}
	g, text := t.Progress(), []string{method}
	for _, v := range []float64{epsilon / s.noise, epsilon, g.Bound, g.Risk, g.KL / float64(s.rows.Len()), t.Noise()} {
		text = append(text, written(v))
	}
	s.records = append(s.records, append(text, strconv.Itoa(g.Step)))
	return t, p, nil
}

// panel draws a posterior and the full GP. epsilon, if above 0, is a tolerance to draw, and own the variance of
// the posterior's noise.
func (s *snelson) panel(title string, t *model.Collapsed, p *model.Posterior, epsilon float64, col color.NRGBA, own float64) (*plot.Plot, error) {
	fig := newPanel(title, "x", "y")
	s.full.addBand(fig, grey, s.noise*s.noise)
	found, err := predict(p, s.lo, s.hi)
	if err != nil {
		return nil, err
	}
	found.addBand(fig, col, own)
	if epsilon > 0 {
		for _, side := range []float64{-epsilon, epsilon} {
			fig.Add(newLine(found.shifted(func(int) float64 { return side }), col, dashes...))
		}
	}
	rows := make(plotter.XYs, s.rows.Len())
	for i, y := range s.rows.Y {
		rows[i] = plotter.XY{X: s.rows.X[i], Y: y}
	}
	fig.Add(newDots(rows, draw.CircleGlyph{}, 1, color.NRGBA{0x60, 0x60, 0x60, 0xff}))
	addCrosses(fig, t.StartInducing(), 3.1, grey)
	addCrosses(fig, slices.DeleteFunc(slices.Clone(p.Z), func(v float64) bool { return v < s.lo || v > s.hi }), -3.1, col)
	fig.X.Min, fig.X.Max, fig.Y.Min, fig.Y.Max = s.lo, s.hi, -3.4, 3.4 // plotting has changed the ranges
	return fig, nil
}

// scan fits kl-PAC-SGP for several tolerances and draws three of them. The last panel is KL/N over the
// tolerance, with the paper's three numbers.
func (s *snelson) scan(ctx context.Context) (panels []*plot.Plot, last *plot.Plot, err error) {
	var points plotter.XYs
	for _, ratio := range []float64{0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6} {
		t, p, err := s.fit(ctx, "kl-PAC-SGP", ratio*s.noise)
		if err != nil {
			return nil, nil, err
		}
		g := t.Progress()
		kl := g.KL / float64(s.rows.Len())
		points = append(points, plotter.XY{X: ratio, Y: kl})
		if slices.Contains([]float64{2, 2.5, 5}, ratio) {
			title := fmt.Sprintf("kl-PAC-SGP, ε = %g σ_n: B %.3f, KL/N %.3f", ratio, g.Bound, kl)
			fig, err := s.panel(title, t, p, ratio*s.noise, palette[len(panels)], 0)
			if err != nil {
				return nil, nil, err
			}
			panels = append(panels, fig)
		}
	}
	last = newPanel("KL/N; dashed: the paper's three", "ε/σ_n", "KL/N")
	addSeries(last, points, 2.2, palette[0])
	for _, v := range []float64{0.097, 0.109, 0.031} {
		last.Add(newLine(plotter.XYs{{X: points[0].X, Y: v}, {X: points[len(points)-1].X, Y: v}}, grey, dashes...))
	}
	last.Y.Min = 0
	return panels, last, nil
}

// runSnelson draws the predictive distributions of kl-PAC-SGP for three tolerances, of FITC and of VFE, each
// with the full GP, and KL/N over the tolerance. The paper does not state the three tolerances of its figure:
// those drawn here have its KL/N of .109, .097 and .031.
func runSnelson(ctx context.Context, o options) error {
	rows, err := snelsonRows(ctx, o, 1)
	if err != nil {
		return err
	}
	s := &snelson{options: o, rows: rows, lo: slices.Min(rows.X) - 0.7, hi: slices.Max(rows.X) + 0.7}
	s.records = [][]string{{"method", "epsilon_over_sigma_n", "epsilon", "bound", "risk", "kl_per_n", "noise_variance", "gradients"}}
	_, posterior, err := s.fit(ctx, "full-GP", 0.6)
	if err != nil {
		return err
	}
	if s.full, err = predict(posterior, s.lo, s.hi); err != nil {
		return err
	}
	panels, last, err := s.scan(ctx)
	if err != nil {
		return err
	}
	var others []*plot.Plot
	for i, method := range []string{"FITC", "VFE"} {
		t, p, err := s.fit(ctx, method, 2*s.noise)
		if err != nil {
			return err
		}
		fig, err := s.panel(fmt.Sprintf("%s: bound %.3f at ε = 2 σ_n", method, t.Progress().Bound), t, p, 0, palette[i+1], t.Noise())
		if err != nil {
			return err
		}
		others = append(others, fig)
	}
	return writeFigure("snelson", s.records, nil, [][]*plot.Plot{panels, append(others, last)}, 900, 520, o)
}
