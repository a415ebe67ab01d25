package main

import (
	"context"
	"strconv"

	"gonum.org/v1/plot"
)

// runInducing draws the bound and the risk of the sparse methods over the number of inducing points: -inducing,
// 500 in the paper, and one to four fifths of it. With all points, the units are those of the table.
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
	for i := range rows {
		if rows[i].Inducing != defaultInducing {
			rows[i].paper = nil
		}
	}
	order, groups := grouped(rows, row.ofSet)
	var panels [][]*plot.Plot
	for _, key := range order {
		panels = append(panels, curves(key, "inducing points M", groups[key], func(r row) float64 { return float64(r.Inducing) }, func(r row) string { return r.Method }))
	}
	oneScale(panels)
	return writeCurves("inducing", []string{"dataset", "ard", "method", "M"}, "", 4, rows, func(r row) []string {
		return []string{r.Dataset, strconv.FormatBool(r.ARD), r.Method, strconv.Itoa(r.Inducing)}
	}, panels, o)
}
