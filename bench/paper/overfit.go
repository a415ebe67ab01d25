package main

import (
	"cmp"
	"context"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// runOverfit fits FITC and kl-PAC-SGP to every second row from many start values of the noise variance, and
// draws where they end. The evidence of FITC is best where there is almost no noise.
func runOverfit(ctx context.Context, o options) error {
	rows, err := snelsonRows(ctx, o, 2)
	if err != nil {
		return err
	}
	full, _, err := unit{Method: "full-GP", Epsilon: 0.6}.fitCurve(ctx, rows, o, 0, 0)
	if err != nil {
		return err
	}
	noise := full.Noise()
	records := [][]string{{"method", "start_noise_variance", "noise_variance", "objective", "bound", "gradients"}}
	ends := [][]string{{"method", "starts", "lowest objective", "σ_n² there", "starts that end within 0.01 of it", "that end with σ_n² below 0.001"}}
	var panels []*plot.Plot
	for i, m := range []struct{ name, axis string }{{"FITC", "−ln evidence / N"}, {"kl-PAC-SGP", "bound B"}} {
		var points plotter.XYs
		rng := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // reproducible by intent
		for range 10 * o.reps {
			start := math.Log(1e-5) + rng.Float64()*math.Log(1e6)
			t, _, err := unit{Method: m.name, Epsilon: 0.6, Inducing: 8}.fitCurve(ctx, rows, o, rng.Uint64(), start)
			if err != nil {
				return err
			}
			n2 := t.Noise()
			points = append(points, plotter.XY{X: n2, Y: t.Objective()})
			records = append(records, []string{
				m.name, written(math.Exp(start)), written(n2), strconv.FormatFloat(t.Objective(), 'g', 8, 64), written(t.Progress().Bound), strconv.Itoa(t.Progress().Step),
			})
		}
		ends = append(ends, append([]string{m.name}, summary(points)...))
		p := newPanel(m.name, "learned noise variance σ_n²", m.axis)
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Add(newDots(points, draw.CircleGlyph{}, 2, color.NRGBA{palette[i].R, palette[i].G, palette[i].B, 0x30}))
		best := newDots(plotter.XYs{lowest(points)}, draw.CrossGlyph{}, 5, palette[i])
		p.Add(best)
		p.Legend.Add("lowest", best)
		of := newLine(plotter.XYs{{X: noise, Y: p.Y.Min}, {X: noise, Y: p.Y.Max}}, grey, dashes...)
		p.Add(of)
		p.Legend.Add("full GP", of)
		panels = append(panels, p)
	}
	return writeFigure("overfit", records, ends, [][]*plot.Plot{panels}, 640, 280, o)
}

// lowest returns the point with the lowest objective.
func lowest(points plotter.XYs) plotter.XY {
	return slices.MinFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) })
}

// summary returns the cells that say where the searches of a method have ended.
func summary(points plotter.XYs) []string {
	best := lowest(points)
	near, small := 0, 0
	for _, p := range points {
		if p.Y <= best.Y+0.01 {
			near++
		}
		if p.X < 1e-3 {
			small++
		}
	}
	return []string{strconv.Itoa(len(points)), fmt.Sprintf("%.4f", best.Y), fmt.Sprintf("%.3g", best.X), strconv.Itoa(near), strconv.Itoa(small)}
}
