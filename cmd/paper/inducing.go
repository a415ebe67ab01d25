package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// runInducing draws the bound and the risk of the sparse methods over the number of inducing
// points: -inducing, 500 in the paper, and four fifths of it and fewer. With as many points the
// units are those of the table.
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
			if r.Inducing == o.inducing && r.Alpha < 0 { // the methods of the paper, with so many points
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
	for _, r := range rows {
		line := []string{r.Dataset, strconv.FormatBool(r.ARD), r.Method, strconv.Itoa(r.Inducing), strconv.Itoa(r.reps)}
		for _, name := range records[0][5:] {
			line = append(line, fmt.Sprintf("%.4f", r.ours[name].mean))
		}
		records = append(records, line)
	}
	order, panels := grouped(rows, func(r row) string { return r.Dataset })
	if len(order) == 0 {
		return fmt.Errorf("nothing of it is computed yet, in %s", filepath.Join(o.out, "units"))
	}
	var line []*plot.Plot
	for i, key := range order {
		line = append(line, overInducing(key, panels[key], i == 0))
	}
	return writeFigure("inducing", records, records, [][]*plot.Plot{line}, 250*float64(len(line)), 260, o)
}

// overInducing is one panel: each method's bound, and dashed its risk on the test rows.
func overInducing(title string, rows []row, legend bool) *plot.Plot {
	p := newPanel(title, "inducing points M", "")
	if legend {
		p.Y.Label.Text = "bound B; dashed: risk on test rows"
	}
	p.Y.Min = 0
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
		col := palette[i%len(palette)]
		line, dots := addSeries(p, bound, 2, col)
		p.Add(newLine(risk, col, dashes...))
		p.Y.Max = max(p.Y.Max, 1.4*bound[0].Y)
		if legend {
			p.Legend.Add(method, line, dots)
		}
	}
	p.Y.Min = 0
	return p
}
