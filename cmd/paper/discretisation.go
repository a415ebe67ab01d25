package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/measured"
)

// What the paper says of its experiment on the discretisation of θ: three features, uniform
// on [−3, 3], lengthscales between 1/e and e, rows for training and testing. What it does not
// say: the noise, the tolerance, and how many inducing points.
const (
	discretisedFeatures = 3
	discretisedTrain    = 2000
	discretisedTest     = 10_000
	discretisedNoise    = 0.1 // deviation
	discretisedInducing = 100
	discretisedEpsilon  = 0.6
	fourierFeatures     = 2000 // of the function that is drawn
)

// runDiscretisation takes coarser and finer grids of θ, and draws what they cost.
func runDiscretisation(ctx context.Context, o options) error {
	var rows []row
	for _, limit := range []int{1, 2, 4, 8} {
		for _, digits := range []int{0, 1, 2, 4} {
			if 2*float64(limit)*math.Pow10(digits) >= certify.MaxGridCount {
				continue // more values than a certificate may list
			}
			rows = append(rows, row{unit: unit{
				Table: "discretisation", Dataset: "generated", Loss: "01", Epsilon: discretisedEpsilon, Method: "kl-PAC-SGP", ARD: true,
				Alpha: -1, Inducing: min(o.inducing, discretisedInducing), Most: min(o.evaluations, 200), Limit: limit, Digits: digits, Start: published,
			}})
		}
	}
	rows, err := o.chosen(rows)
	if err != nil {
		return err
	}
	var all measured.Dataset
	drawn := -1
	err = complete(ctx, rows, o, func(u unit) (train, test measured.Dataset, err error) {
		if u.Seed != drawn {
			all, drawn = generated(u.Seed), u.Seed
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
	panels := curves("", "ln |Θ|", rows, row.lnTheta, func(r row) string { return fmt.Sprintf("L = %d", r.Limit) })
	if len(rows) == 0 {
		return errors.New("no row has such a name")
	}
	last := rows[len(rows)-1]
	return writeCurves("discretisation", []string{"limit", "digits", "ln_theta", "B − B of the last row", "R_test − R_test of it"}, rows, func(r row) []string {
		var bound, risk []float64 // function by function
		for _, f := range r.found {
			for _, g := range last.found {
				if f.Seed == g.Seed {
					bound, risk = append(bound, columns[0].of(f)-columns[0].of(g)), append(risk, f.Test-g.Test)
				}
			}
		}
		return []string{strconv.Itoa(r.Limit), strconv.Itoa(r.Digits), written(r.lnTheta()), estimated(bound).text(5), estimated(risk).text(5)}
	}, [][]*plot.Plot{panels}, o)
}

// generated draws a function from a Gaussian process with a squared exponential kernel of
// variance 1, by random Fourier features, and rows of it.
func generated(seed int) measured.Dataset {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6469736372657465)) //nolint:gosec // reproducible by intent
	var scale [discretisedFeatures]float64
	for j := range scale {
		scale[j] = math.Exp(2*rng.Float64() - 1)
	}
	type wave struct {
		frequency [discretisedFeatures]float64
		phase     float64
		weight    float64
	}
	waves := make([]wave, fourierFeatures)
	for i := range waves {
		w := &waves[i]
		for j := range scale {
			w.frequency[j] = rng.NormFloat64() / scale[j]
		}
		w.phase, w.weight = 2*math.Pi*rng.Float64(), math.Sqrt(2.0/fourierFeatures)*rng.NormFloat64()
	}
	t := measured.Dataset{Columns: make([][]float64, discretisedFeatures+1)}
	for range discretisedTrain + discretisedTest {
		y := discretisedNoise * rng.NormFloat64()
		var x [discretisedFeatures]float64
		for j := range x {
			x[j] = 6*rng.Float64() - 3
			t.Columns[j] = append(t.Columns[j], x[j])
		}
		for _, w := range waves {
			angle := w.phase
			for j, v := range x {
				angle += w.frequency[j] * v
			}
			y += w.weight * math.Cos(angle)
		}
		t.Columns[discretisedFeatures] = append(t.Columns[discretisedFeatures], y)
	}
	for j := range discretisedFeatures {
		t.Names = append(t.Names, fmt.Sprintf("x%d", j+1))
	}
	t.Names = append(t.Names, "y")
	return t
}

// lnTheta is ln |Θ| of a row: four hyper-parameters on its grid.
func (r row) lnTheta() float64 {
	return (discretisedFeatures + 1) * math.Log(1+2*float64(r.Limit)*math.Pow10(r.Digits))
}

// written is a number of a CSV file, none of NaN.
func written(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
