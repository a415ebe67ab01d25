package main

import (
	"context"
	"strconv"

	"gonum.org/v1/plot"
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
			if r.Start == published && !r.extra() { // the methods of the paper
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
	records := [][]string{{"dataset", "ard", "method", "M", "repetitions"}}
	for _, q := range quantities {
		records[0] = append(records[0], q.name)
	}
	for _, r := range rows {
		line := []string{r.Dataset, strconv.FormatBool(r.ARD), r.Method, strconv.Itoa(r.Inducing), strconv.Itoa(r.reps)}
		for _, q := range quantities {
			line = append(line, r.ours[q.name].text(4))
		}
		records = append(records, line)
	}
	for i := range rows {
		rows[i].paper = nil // of 500 points alone
	}
	order, groups := grouped(rows, row.ofSet)
	var panels [][]*plot.Plot
	for _, key := range order {
		panels = append(panels, curves(key, "inducing points M", groups[key], func(r row) float64 { return float64(r.Inducing) }, func(r row) string { return r.Method }))
	}
	if len(panels) == 0 {
		return nil
	}
	oneScale(panels)
	return writeFigure("inducing", records, records, panels, 1150, 240*float64(len(panels)), o)
}
