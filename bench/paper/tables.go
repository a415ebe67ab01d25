package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// publishedTables has the cells of the paper's tables, as CSV with comments.
//
//go:embed paper.csv
var publishedTables string

// A column is one number of a row, and its value in a result.
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
	{"B_xi", func(f result) float64 { return f.Bound }}, // of the certificate; no number of the paper
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

// An estimate is a mean with its standard error; NaN where there is none.
type estimate struct{ mean, se float64 }

// A row is a row of a table: the unit without its seed, and its numbers.
type row struct {
	unit
	paper, ours map[string]estimate
	reps        int
	made        string // the command, and the machine
	found       []result
}

// publishedRows are the paper's rows of a table.
func publishedRows(table string) ([]row, error) {
	rows, err := readRows(publishedTables, table)
	for i := range rows {
		rows[i].paper, rows[i].ours = rows[i].ours, nil
	}
	return rows, err
}

// freeForm is how a job names the method that is its default.
const freeForm = "free-form"

// more times the paper's inducing points, beyond the default, make a further row of a free-form
// Q.
var more = map[string]int{"pol": 3, "kin40k": 6}

// tableRows are the paper's rows of a table, those after pre-training and by mini-batches, VFE with
// its own posterior, and our default in the same protocol.
func tableRows(table string, o options) ([]row, error) {
	rows, err := publishedRows(table)
	if err != nil {
		return nil, err
	}
	var all []row
	for _, r := range rows {
		r.Most, r.Start = o.evaluations, published
		cheap := min(3*o.evaluations, max(o.evaluations, model.DefaultEvaluations)) // each costs a third or two
		if r.byEvidence() {
			r.Most = cheap
		}
		if table != "boston" {
			r.Inducing = o.inducing
		}
		if r.Method == "VFE" { // the published code evaluates the posterior of FITC
			r.Alpha = 1
			all = append(all, r)
			r.Alpha = 0
		}
		all = append(all, r)
		if r.Inducing > 0 && !r.byEvidence() {
			r.Start = pretrained
			all = append(all, r)
			r.Start, r.Most = minibatch, cheap
			all = append(all, r)
		}
	}
	for _, r := range rows {
		if !strings.HasPrefix(r.Method, "kl-") {
			continue
		}
		r.Method, r.Inducing = freeForm, 0
		all = append(all, r)
		for _, m := range []int{1, more[r.Dataset]} {
			if table == "sparse" && m > 0 && (m == 1 || r.ARD) {
				r.Inducing = m * o.inducing
				all = append(all, r)
			}
		}
	}
	return slices.DeleteFunc(all, func(r row) bool { return o.start != "" && r.Start != o.start }), nil
}

// runTable computes the missing units of a table and writes it.
func runTable(ctx context.Context, table string, o options) error {
	rows, err := tableRows(table, o)
	if err != nil {
		return err
	}
	if rows, err = o.made(ctx, rows); err != nil {
		return err
	}
	for i := range rows {
		rows[i].made = fmt.Sprintf("`%s`; %s", o.command(table), measured.Machine(rows[i].made))
	}
	return writeTable(table, rows, o)
}

// made computes the chosen rows with data.
func (o options) made(ctx context.Context, rows []row) ([]row, error) {
	rows, err := o.chosen(rows)
	if err != nil {
		return nil, err
	}
	sets := map[string]measured.Dataset{}
	missing := map[string]bool{}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		_, err := os.Stat(filepath.Join(o.data, r.Dataset))
		if errors.Is(err, os.ErrNotExist) && !missing[r.Dataset] {
			missing[r.Dataset] = true
			fmt.Fprintf(os.Stderr, "%s is not in %s: its rows are left out\n", r.Dataset, o.data)
		}
		return missing[r.Dataset]
	})
	if len(rows) == 0 {
		return nil, errors.New("no row is computed")
	}
	err = complete(ctx, rows, o, func(u unit) (train, test measured.Dataset, err error) {
		if _, ok := sets[u.Dataset]; !ok {
			if sets[u.Dataset], err = readTable(ctx, o.data, u.Dataset); err != nil {
				return train, test, err
			}
		}
		all := sets[u.Dataset]
		in, apart := split(all, u.Seed)
		return all.Pick(in), all.Pick(apart), nil
	})
	return rows, err
}

// chosen are the rows that -only names.
func (o options) chosen(rows []row) ([]row, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	if rows = slices.DeleteFunc(rows, func(r row) bool { return !only.MatchString(r.label()) }); len(rows) == 0 {
		return nil, fmt.Errorf("-only %q -start %q: there is no such row", o.only, o.start)
	}
	return rows, nil
}

// complete computes the missing units of rows, on data that split gives, and gathers their
// means.
func complete(ctx context.Context, rows []row, o options, split func(unit) (train, test measured.Dataset, err error)) error {
	units, searches := filepath.Join(o.out, "units"), filepath.Join(o.out, "searches")
	for _, dir := range []string{units, searches} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are for everybody to read
			return err
		}
	}
	found := make([][]result, len(rows))
	var todo []unit
	var of []int // rows of them
	for seed := range o.reps {
		for i, r := range rows {
			u := r.unit
			u.Seed = seed
			if f, ok, err := stored(units, u); err != nil {
				return err
			} else if ok {
				found[i] = append(found[i], f)
			} else {
				todo, of = append(todo, u), append(of, i)
			}
		}
	}
	began, fits := time.Now(), newFitter(searches)
	for i, u := range todo {
		train, test, err := split(u)
		if err != nil {
			return err
		}
		f, err := fits.fit(ctx, u, train, test)
		if err != nil {
			return err
		}
		if err := writeJSON(filepath.Join(units, u.name()), f); err != nil {
			return err
		}
		found[of[i]] = append(found[of[i]], f)
		spent := time.Since(began)
		left := spent / time.Duration(i+1) * time.Duration(len(todo)-i-1)
		fmt.Fprintf(os.Stderr, "%d/%d %s, split %d: B %.4f, test %.4f, %d gradients, %.0f s; about %s left\n",
			i+1, len(todo), row{unit: u}.label(), u.Seed, f.Bound, f.Test, f.Steps, f.Seconds, left.Round(time.Second))
	}
	for i := range rows {
		slices.SortFunc(found[i], func(a, b result) int { return a.Seed - b.Seed })
		rows[i].gather(found[i])
	}
	return nil
}

// gather takes the mean over splits.
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

// estimated is the mean of independent values.
func estimated(values []float64) estimate {
	mean, deviation := stat.MeanStdDev(values, nil)
	if len(values) < 2 {
		deviation = math.NaN()
	}
	return estimate{mean, deviation / math.Sqrt(float64(len(values)))}
}

// label names a row for people.
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

// verdict compares a number with the paper's, in standard errors of the difference. The
// paper prints three digits: half of the last one is no difference. A bound may be lower.
func (r row) verdict(name string) (difference float64, words string) {
	ours, paper := r.ours[name], r.paper[name]
	difference = ours.mean - paper.mean
	if math.IsNaN(paper.mean) || math.IsNaN(ours.mean) {
		return math.NaN(), "no number to compare with"
	}
	own := ours.se
	if math.IsNaN(own) {
		own = paper.se // one split: as uncertain as a mean of ten at the least
	}
	const printed = 0.0003 // what rounding a standard error to three digits may hide
	off := max(0, math.Abs(difference)-0.0005) / math.Hypot(printed, math.Hypot(own, paper.se))
	switch {
	case off <= 2:
		words = "as in the paper"
	case difference < 0:
		words = "lower"
	default:
		words = "higher"
	}
	return difference, words
}

// writeTable writes the rows, the figure of boston and, with -write, the stored results and the page.
func writeTable(name string, rows []row, o options) error {
	err := errors.Join(writeRows(filepath.Join(o.out, name+".csv"), rows), o.keep(rows))
	if err != nil {
		return err
	}
	text := ""
	if o.write {
		if rows, text, err = o.section(name); err != nil {
			return err
		}
	}
	if name == "boston" {
		err = errors.Join(drawBoston(rows, o.out), o.storeFigure(name))
	}
	return errors.Join(err, o.onPage(name, text))
}
