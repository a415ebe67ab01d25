package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/pacsgp/pacsgp/certify"
)

// A column is one number of a row. of returns its value in one result.
type column struct {
	name string
	of   func(result) float64
}

var columns = []column{
	{"B", func(f result) float64 { return certify.KLInverse(f.Train, f.printed()) }},
	{"B_pin", func(f result) float64 { return certify.Pinsker(f.Train, f.printed()) }},
	{"R_train", func(f result) float64 { return f.Train }},
	{"R_test", func(f result) float64 { return f.Test }},
	{"mse", func(f result) float64 { return f.MSE }},
	{"kl_per_n", func(f result) float64 { return f.KL }},
	{"sigma2", func(f result) float64 {
		if f.Noise == 0 { // a free-form posterior has none
			return math.NaN()
		}
		return f.Noise
	}},
	{"B_xi", func(f result) float64 { return f.Bound }}, // as in the certificate; the paper has no such number
	{"M", func(f result) float64 { return float64(f.Points) }},
	{"empty", func(f result) float64 { return float64(f.Empty) }},
	{"gradients", func(f result) float64 { return float64(f.Steps) }},
	{"cut_off", func(f result) float64 {
		if f.cut() {
			return 1
		}
		return 0
	}},
	{"seconds", func(f result) float64 { return f.Seconds }},
}

// An estimate is a mean with its standard error. NaN means that there is none.
type estimate struct{ mean, se float64 }

// A row is a row of a table: the unit without its seed, and its numbers by column.
type row struct {
	unit
	paper, ours map[string]estimate
	reps        int
	made        string // the command and the machine
	found       []result
}

// freeForm is the name in jobs of the default method.
const freeForm = "free-form"

// gather sets the numbers of the row to means over splits.
func (r *row) gather(found []result) {
	for _, f := range found {
		r.made = f.Instructions
	}
	r.ours, r.reps, r.found = map[string]estimate{}, len(found), found
	for _, c := range columns {
		var values []float64
		for _, f := range found {
			values = append(values, c.of(f))
		}
		r.ours[c.name] = estimated(values)
	}
}

// estimated returns the mean of independent values, with its standard error.
func estimated(values []float64) estimate {
	mean, deviation := stat.MeanStdDev(values, nil)
	if len(values) < 2 {
		deviation = math.NaN()
	}
	return estimate{mean, deviation / math.Sqrt(float64(len(values)))}
}

// label returns the name of a row for tables and -only.
func (r row) label() string {
	words := []string{r.Dataset, fmt.Sprintf("ε %g", r.Epsilon), r.Method}
	if r.Loss == "exp" {
		words = append(words, "exp loss")
	}
	if r.ARD {
		words = append(words, "ARD")
	}
	if r.Alpha >= 0 && r.Method == "VFE" { // the published code evaluates the posterior of FITC
		words = append(words, fmt.Sprintf("α %g", r.Alpha))
	}
	if r.Start == pretrained || r.Start == minibatch {
		words = append(words, r.Start)
	}
	if r.Method == freeForm && r.Inducing > 0 {
		words = append(words, fmt.Sprintf("M %d", r.Inducing))
	}
	if r.Limit > 0 {
		words = append(words, fmt.Sprintf("L %d, %d digits", r.Limit, r.Digits))
	}
	return strings.Join(words, " ")
}

// verdict compares our bound with the paper's, in standard errors of the difference. The paper prints three
// digits, so a difference of half the last digit does not count.
func (r row) verdict() string {
	ours, paper := r.ours["B"], r.paper["B"]
	difference, own := ours.mean-paper.mean, ours.se
	if math.IsNaN(own) {
		own = paper.se // one split: as uncertain as a mean of ten at the least
	}
	const printed = 0.0003 // what rounding a standard error to three digits may hide
	off := max(0, math.Abs(difference)-0.0005) / math.Hypot(printed, math.Hypot(own, paper.se))
	words := fmt.Sprintf("higher by %.4f", difference)
	if difference < 0 {
		words = fmt.Sprintf("lower by %.4f", -difference)
	}
	switch {
	case math.IsNaN(difference):
		return "no number to compare with"
	case r.extra():
		return fmt.Sprintf("%+.4f from %s in the paper", difference, r.setting().Method)
	case off <= 2:
		return "as in the paper"
	case r.ours["cut_off"].mean > 0:
		return words + ", cut off"
	}
	return words
}

// setting returns the paper's row with which a row is compared.
func (r row) setting() unit {
	s := unit{Table: r.Table, Dataset: r.Dataset, Loss: r.Loss, Epsilon: r.Epsilon, Method: r.Method, ARD: r.ARD}
	if s.Method == freeForm && s.Table == "boston" {
		s.Method = "kl-PAC-GP"
	} else if s.Method == freeForm {
		s.Method = "kl-PAC-SGP"
	}
	return s
}

// extra reports whether the paper has no such row.
func (r row) extra() bool { return r.Method == freeForm || r.Method == "VFE" && r.Alpha == 0 }

// text returns a mean with its standard error, if there is one; an empty text if there is no mean.
func (e estimate) text(digits int) string {
	if math.IsNaN(e.mean) {
		return ""
	}
	text := fmt.Sprintf("%.*f", digits, e.mean)
	if !math.IsNaN(e.se) {
		text += fmt.Sprintf(" ± %.*f", digits, e.se)
	}
	return text
}

// ofSet returns the title of a panel: the data set, and whether lengthscales are one for each feature.
func (r row) ofSet() string {
	if r.ARD {
		return r.Dataset + ", ARD"
	}
	return r.Dataset
}

// written returns a number for a CSV file; an empty text for NaN.
func written(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
