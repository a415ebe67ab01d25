package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/synth"
)

// What the paper says of its experiment on the discretisation of θ: three features, uniform
// on [−3, 3], lengthscales between 1/e and e (those of synth), rows for training and testing. What it does not
// say: the noise and the tolerance.
const (
	discretisedFeatures = 3
	discretisedTrain    = 2000
	discretisedTest     = 10_000
	discretisedNoise    = 0.1 // deviation
	discretisedEpsilon  = 0.6
)

// discretisations are kl-PAC-GP, or with another -inducing kl-PAC-SGP, on coarser and finer grids of
// θ. The last is that of two digits within the widest limit.
func discretisations(o options) (rows []row) {
	u := unit{
		Table: "discretisation", Dataset: "generated", Loss: "01", Epsilon: discretisedEpsilon, Method: "kl-PAC-GP", ARD: true,
		Alpha: -1, Most: min(o.evaluations, 200), Start: published,
	}
	if o.inducing != defaultInducing {
		u.Method, u.Inducing = "kl-PAC-SGP", o.inducing
	}
	for u.Limit = 1; u.Limit <= widestLimit; u.Limit *= 2 {
		for _, u.Digits = range []int{0, 1, 2, 4} {
			if 2*float64(u.Limit)*math.Pow10(u.Digits) < certify.MaxGridCount { // a certificate lists no more values
				rows = append(rows, row{unit: u})
			}
		}
	}
	return rows
}

// runDiscretisation takes coarser and finer grids of θ, and draws what they cost next to the last,
// function by function.
func runDiscretisation(ctx context.Context, o options) error {
	rows, err := o.chosen(discretisations(o))
	if err != nil {
		return err
	}
	var all measured.Dataset
	drawn := -1
	err = complete(ctx, rows, o, func(u unit) (train, test measured.Dataset, err error) {
		if u.Seed != drawn {
			if all, err = generated(u.Seed); err != nil {
				return train, test, err
			}
			drawn = u.Seed
		}
		rows := make([]int, all.Rows())
		for i := range rows {
			rows[i] = i
		}
		return all.Pick(rows[:discretisedTrain]), all.Pick(rows[discretisedTrain:]), nil
	})
	if err != nil {
		return err
	}
	last := rows[len(rows)-1]
	var others []row // with differences for numbers
	for _, r := range rows {
		others = append(others, r.minus(last))
	}
	panels := curves("difference from the last grid", "ln |Θ|", others, row.lnTheta, func(r row) string { return fmt.Sprintf("L = %d", r.Limit) })
	for _, p := range panels {
		p.Add(newLine(plotter.XYs{{X: p.X.Min, Y: 0}, {X: p.X.Max, Y: 0}}, grey, dashes...))
	}
	return writeCurves("discretisation", []string{"limit", "digits", "ln_theta", "B", "R_test"}, " − last", 5, others, func(r row) []string {
		at := slices.IndexFunc(rows, func(s row) bool { return s.unit == r.unit })
		return []string{strconv.Itoa(r.Limit), strconv.Itoa(r.Digits), written(r.lnTheta()), rows[at].ours["B"].text(4), rows[at].ours["R_test"].text(4)}
	}, [][]*plot.Plot{panels}, o)
}

// minus is the row with the differences from another on the same splits for numbers.
func (r row) minus(other row) row {
	ours := map[string]estimate{}
	for _, c := range columns {
		var values []float64
		for _, f := range r.found {
			for _, g := range other.found {
				if f.Seed == g.Seed {
					values = append(values, c.of(f)-c.of(g))
				}
			}
		}
		ours[c.name] = estimated(values)
	}
	r.ours = ours
	return r
}

// generated are rows of a function that is drawn from a Gaussian process.
func generated(seed int) (t measured.Dataset, err error) {
	g, err := synth.New(synth.Config{Seed: uint64(seed), Features: discretisedFeatures, Noise: discretisedNoise}) //nolint:gosec // not negative
	if err != nil {
		return t, err
	}
	return measured.Dataset{Names: g.Columns(), Columns: g.Rows(0, discretisedTrain+discretisedTest)}, nil
}

// lnTheta is ln |Θ| of a row: four hyper-parameters on its grid.
func (r row) lnTheta() float64 {
	return (discretisedFeatures + 1) * math.Log(1+2*float64(r.Limit)*math.Pow10(r.Digits))
}
