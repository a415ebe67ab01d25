package main

import (
	"context"
	"image/color"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// fitCurve fits the unit's method to rows of one feature by the paper's protocol, except that the model chooses
// the centres.
func (u unit) fitCurve(ctx context.Context, rows model.Rows, o options, seed uint64, lnNoise float64) (*model.Collapsed, *model.Posterior, error) {
	c, err := u.collapsed(rows)
	if err != nil {
		return nil, nil, err
	}
	c.Inducing, c.Evaluations, c.Seed = u.Inducing, o.evaluations, seed
	c.Grids = slices.Repeat([]model.Grid{flat(job.PaperGrid)}, c.Parameters())
	c.Starts = []model.Start{{Theta: make([]float64, c.Parameters()), LnNoise: lnNoise}}
	return minimised(ctx, c, rows)
}

// snelsonRows returns every step-th raw row of the one-dimensional data set.
func snelsonRows(ctx context.Context, o options, step int) (model.Rows, error) {
	t, err := measured.ReadDataset(ctx, filepath.Join(o.data, "snelson", "train.parquet"))
	if err != nil {
		return model.Rows{}, err
	}
	var some []int
	for i := 0; i < t.Rows(); i += step {
		some = append(some, i)
	}
	return matrix(t.Pick(some)), nil // columns x, y
}

// A curve is a predictive distribution on a grid of inputs.
type curve struct{ x, mean, variance []float64 }

func predict(p *model.Posterior, lo, hi float64) (curve, error) {
	const points = 300
	c := curve{make([]float64, points), make([]float64, points), make([]float64, points)}
	for i := range c.x {
		c.x[i] = lo + (hi-lo)*float64(i)/(points-1)
	}
	r, err := model.NewPredictor(p, 1)
	if err != nil {
		return c, err
	}
	defer r.Close()
	return c, r.Predict(c.x, c.mean, c.variance)
}

// shifted returns the mean, moved by by(i) at input i.
func (c curve) shifted(by func(i int) float64) plotter.XYs {
	points := make(plotter.XYs, len(c.x))
	for i, x := range c.x {
		points[i] = plotter.XY{X: x, Y: c.mean[i] + by(i)}
	}
	return points
}

// addBand draws the mean, and a band of two standard deviations around it.
func (c curve) addBand(p *plot.Plot, col color.NRGBA, noise float64) {
	deviation := func(i int) float64 { return 2 * math.Sqrt(max(0, c.variance[i])+noise) }
	lower := c.shifted(func(i int) float64 { return -deviation(i) })
	slices.Reverse(lower)
	line := newLine(c.shifted(func(int) float64 { return 0 }), col)
	line.Width = vg.Points(1.2)
	p.Add(&plotter.Polygon{XYs: []plotter.XYs{slices.Concat(c.shifted(deviation), lower)}, Color: color.NRGBA{col.R, col.G, col.B, 0x30}}, line)
}

// addCrosses draws crosses at the inducing points z, all at one height.
func addCrosses(p *plot.Plot, z []float64, at float64, col color.NRGBA) {
	var crosses plotter.XYs
	for _, v := range z {
		crosses = append(crosses, plotter.XY{X: v, Y: at})
	}
	if len(crosses) > 0 {
		p.Add(newDots(crosses, draw.CrossGlyph{}, 2.5, col))
	}
}
