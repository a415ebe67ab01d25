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
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// The paper's experiment on the discretisation of θ. The paper states three features, uniform on [−3, 3], lengthscales
// between 1/e and e (those of synth), and the numbers of rows. It does not state the noise and the tolerance.
const (
	discretisedFeatures = 3
	discretisedTrain    = 2000
	discretisedTest     = 10_000
	discretisedNoise    = 0.1 // standard deviation
	discretisedEpsilon  = 0.6
)

// discretisations returns the rows for kl-PAC-GP on coarser and finer grids of θ, or for kl-PAC-SGP if
// -inducing is set. The last grid has two digits within the widest limit.
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

// runDiscretisation fits on coarser and finer grids of θ, and draws the differences from the last grid,
// averaged over functions.
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
		rows := dataset.Indices(all.Rows())
		return all.Pick(rows[:discretisedTrain]), all.Pick(rows[discretisedTrain:]), nil
	})
	if err != nil {
		return err
	}
	last := rows[len(rows)-1]
	var others []row // whose numbers are differences from the last row
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

// minus returns the row with its numbers replaced by the differences from another row on the same splits.
func (r row) minus(other row) row {
	r.ours = map[string]estimate{}
	for _, c := range columns {
		var values []float64
		for _, f := range r.found {
			for _, g := range other.found {
				if f.Seed == g.Seed {
					values = append(values, c.of(f)-c.of(g))
				}
			}
		}
		r.ours[c.name] = estimated(values)
	}
	return r
}

// generated returns rows of a function that is drawn from a Gaussian process.
func generated(seed int) (t measured.Dataset, err error) {
	g, err := synth.New(synth.Config{Seed: uint64(seed), Features: discretisedFeatures, Noise: discretisedNoise}) //nolint:gosec // not negative
	if err != nil {
		return t, err
	}
	return measured.Dataset{Names: g.Columns(), Columns: g.Rows(0, discretisedTrain+discretisedTest)}, nil
}

// lnTheta returns ln |Θ| of a row: the number of grid points of four hyper-parameters.
func (r row) lnTheta() float64 {
	return (discretisedFeatures + 1) * math.Log(1+2*float64(r.Limit)*math.Pow10(r.Digits))
}
