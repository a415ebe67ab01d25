package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// runInducing draws what the bound and the risk of the sparse methods come to with fewer
// inducing points: at -inducing, 500 in the paper, and at four fifths of it and fewer. The
// units are those of the table; with as many points they are the same.
func runInducing(ctx context.Context, o options) error {
	most := o.inducing
	var rows []row
	for fifth := 1; fifth <= 5; fifth++ {
		o.inducing = fifth * most / 5
		some, err := tableRows("sparse", o)
		if err != nil {
			return err
		}
		for _, r := range some {
			if r.Inducing == o.inducing && r.Alpha < 0 { // the methods of the paper, with its number of points or fewer
				rows = append(rows, r)
			}
		}
	}
	o.inducing = most
	rows, err := o.made(ctx, rows)
	if err != nil {
		return err
	}
	rows = here(rows)
	records := [][]string{{"dataset", "ard", "method", "inducing", "repetitions", "B", "R_test", "kl_per_n"}}
	var order []string
	panels := map[string][]row{}
	for _, r := range rows {
		line := []string{r.Dataset, strconv.FormatBool(r.ARD), r.Method, strconv.Itoa(r.Inducing), strconv.Itoa(r.reps)}
		for _, name := range []string{"B", "R_test", "kl_per_n"} {
			line = append(line, fmt.Sprintf("%.4f", r.ours[name].mean))
		}
		records = append(records, line)
		key := r.Dataset
		if r.ARD {
			key += ", ARD"
		}
		if panels[key] == nil {
			order = append(order, key)
		}
		panels[key] = append(panels[key], r)
	}
	if len(order) == 0 {
		return fmt.Errorf("nothing of it is computed yet, in %s", filepath.Join(o.out, "units"))
	}
	var line []*plot.Plot
	for i, key := range order {
		p, err := overInducing(key, panels[key], i == 0)
		if err != nil {
			return err
		}
		line = append(line, p)
	}
	return writeFigure("inducing", records, records, [][]*plot.Plot{line}, 250*float64(len(line)), 260, o)
}

// overInducing is one panel: each method's bound, and dashed its risk on the test rows.
func overInducing(title string, rows []row, legend bool) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Min = title, "inducing points M", 0
	if legend {
		p.Y.Label.Text = "bound B; dashed: risk on test rows"
	}
	p.Legend.Top = true
	var methods []string
	for _, r := range rows {
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	for i, method := range methods {
		var bound, risk plotter.XYs
		for _, r := range rows {
			if r.Method == method {
				m := float64(r.Inducing)
				bound = append(bound, plotter.XY{X: m, Y: r.ours["B"].mean})
				risk = append(risk, plotter.XY{X: m, Y: r.ours["R_test"].mean})
			}
		}
		line, dots, err := plotter.NewLinePoints(bound)
		if err != nil {
			return nil, err
		}
		below, err := plotter.NewLine(risk)
		if err != nil {
			return nil, err
		}
		col := palette[i%len(palette)]
		line.Color, below.Color, below.Dashes = col, col, []vg.Length{vg.Points(3), vg.Points(3)}
		dots.Color, dots.Shape, dots.Radius = col, draw.CircleGlyph{}, vg.Points(2)
		p.Add(line, dots, below)
		p.Y.Max = max(p.Y.Max, 1.4*plotter.YValues{XYer: bound}.Value(0))
		if legend {
			p.Legend.Add(method, line, dots)
		}
	}
	p.Y.Min = 0
	return p, nil
}
