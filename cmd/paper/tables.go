package main

import (
	"bytes"
	"context"
	_ "embed" // for the paper's tables
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/measured"
	"github.com/pacsgp/pacsgp/model"
)

// The tables of the supplement of Reeb et al. 2018, means over ten splits and their
// standard errors.
//
//go:embed testdata/paper-tables.csv
var paperTables []byte

// A column is one number of a row, and its value in a finding.
type column struct {
	name string
	of   func(finding) float64
}

var columns = []column{
	{"B", func(f finding) float64 { return f.Bound }},
	{"B_pin", func(f finding) float64 { return f.Pinsker }},
	{"R_train", func(f finding) float64 { return f.Train }},
	{"R_test", func(f finding) float64 { return f.Test }},
	{"mse", func(f finding) float64 { return f.MSE }},
	{"kl_per_n", func(f finding) float64 { return f.KL }},
	{"sigma2", func(f finding) float64 {
		if f.Noise == 0 { // a free-form posterior has none
			return math.NaN()
		}
		return f.Noise
	}},
}

// An estimate is a mean with its standard error; NaN where there is none.
type estimate struct{ mean, se float64 }

// A row is a row of a table: the unit without its seed, and its numbers.
type row struct {
	unit
	paper, ours map[string]estimate
	reps        int
	seconds     float64

	instructions string
}

// published reads the paper's rows of a table.
func published(table string) ([]row, error) {
	records, err := csv.NewReader(bytes.NewReader(paperTables)).ReadAll()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, name := range records[0] {
		at[name] = i
	}
	var rows []row
	for _, r := range records[1:] {
		if r[at["table"]] != table {
			continue
		}
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(r[at[name]], 64)
			if err != nil {
				return math.NaN()
			}
			return v
		}
		out := row{paper: map[string]estimate{}}
		out.unit = unit{
			Table: table, Dataset: r[at["dataset"]], Loss: r[at["loss"]], Epsilon: number("epsilon"),
			Method: r[at["method"]], ARD: r[at["ard"]] == "yes", Alpha: -1,
		}
		for _, c := range columns {
			out.paper[c.name] = estimate{number(c.name), number(c.name + "_se")}
		}
		rows = append(rows, out)
	}
	return rows, nil
}

// freeForm is how a job names the method that is its default.
const freeForm = "free-form"

// more times the paper's inducing points, beyond the default, make a further row of a free-form
// Q.
var more = map[string]int{"pol": 3, "kin40k": 6}

// tableRows are the paper's rows of a table, those with the posterior that the published
// code evaluates, and our default in the same protocol.
func tableRows(table string, o options) ([]row, error) {
	rows, err := published(table)
	if err != nil {
		return nil, err
	}
	var all []row
	for _, r := range rows {
		if r.Most = o.evaluations; r.byEvidence() {
			r.Most = min(3*o.evaluations, max(o.evaluations, model.DefaultEvaluations)) // each costs a third or two
		}
		if table != "boston" {
			r.Inducing = o.inducing
		}
		all = append(all, r)
		if r.Method == "VFE" {
			r.Alpha = 1
			all = append(all, r)
		}
	}
	for _, r := range rows {
		if !strings.HasPrefix(r.Method, "kl-") {
			continue
		}
		r.Method, r.Inducing = freeForm, 0
		all = append(all, r)
		if many := more[r.Dataset]; many > 0 && table == "sparse" && r.ARD {
			r.Inducing = many * o.inducing
			all = append(all, r)
		}
	}
	return all, nil
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
	return writeTable(table, here(rows), o)
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
	return slices.DeleteFunc(rows, func(r row) bool { return !only.MatchString(r.label()) }), nil
}

// here are the rows with at least one split.
func here(rows []row) []row {
	return slices.DeleteFunc(rows, func(r row) bool {
		if r.reps == 0 {
			fmt.Fprintf(os.Stderr, "%s is not computed yet\n", r.label())
		}
		return r.reps == 0
	})
}

// complete computes the missing units of rows, on data that split gives, unless -stored is set, and
// gathers their means.
func complete(ctx context.Context, rows []row, o options, split func(unit) (train, test measured.Dataset, err error)) error {
	units := filepath.Join(o.out, "units")
	if err := os.MkdirAll(units, 0o755); err != nil { //nolint:gosec // results are for everybody to read
		return err
	}
	found := make([][]finding, len(rows))
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
			} else if !o.stored {
				todo, of = append(todo, u), append(of, i)
			}
		}
	}
	began := time.Now()
	for i, u := range todo {
		train, test, err := split(u)
		if err != nil {
			return err
		}
		f, err := u.fit(ctx, train, test)
		if err != nil {
			return err
		}
		if err := f.store(units); err != nil {
			return err
		}
		found[of[i]] = append(found[of[i]], f)
		spent := time.Since(began)
		left := spent / time.Duration(i+1) * time.Duration(len(todo)-i-1)
		fmt.Fprintf(os.Stderr, "%d/%d %s, split %d: B %.4f, test %.4f, %d gradients, %.0f s; about %s left\n",
			i+1, len(todo), row{unit: u}.label(), u.Seed, f.Bound, f.Test, f.Steps, f.Seconds, left.Round(time.Second))
	}
	for i := range rows {
		slices.SortFunc(found[i], func(a, b finding) int { return a.Seed - b.Seed })
		rows[i].gather(found[i])
	}
	return nil
}

// gather takes the mean over splits.
func (r *row) gather(found []finding) {
	for _, f := range found {
		r.seconds += f.Seconds / float64(len(found))
		r.instructions = f.Instructions
	}
	r.ours, r.reps = map[string]estimate{}, len(found)
	for _, c := range columns {
		var values []float64
		for _, f := range found {
			values = append(values, c.of(f))
		}
		mean, deviation := stat.MeanStdDev(values, nil)
		if r.reps < 2 {
			deviation = math.NaN()
		}
		r.ours[c.name] = estimate{mean, deviation / math.Sqrt(float64(r.reps))}
	}
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
	if r.Alpha >= 0 {
		words = append(words, fmt.Sprintf("α %g", r.Alpha))
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
func (r row) verdict(name string) (difference, off float64, words string) {
	ours, paper := r.ours[name], r.paper[name]
	difference = ours.mean - paper.mean
	if math.IsNaN(paper.mean) || math.IsNaN(ours.mean) {
		return math.NaN(), math.NaN(), "no number to compare with"
	}
	own := ours.se
	if math.IsNaN(own) {
		own = paper.se // one split: as uncertain as a mean of ten at the least
	}
	const printed = 0.0003 // what rounding a standard error to three digits may hide
	off = max(0, math.Abs(difference)-0.0005) / math.Hypot(printed, math.Hypot(own, paper.se))
	switch {
	case off <= 2:
		words = "as in the paper"
	case difference < 0:
		words = "lower"
	default:
		words = "higher"
	}
	return difference, off, words
}

// writeTable writes the table as CSV, and the comparison with the paper's, cell by cell.
func writeTable(name string, rows []row, o options) error {
	head := []string{"dataset", "loss", "epsilon", "method", "ard", "alpha", "inducing", "repetitions", "seconds"}
	for _, c := range columns {
		head = append(head, c.name, c.name+"_se")
	}
	table, cells := [][]string{head}, [][]string{{"dataset", "loss", "epsilon", "method", "ard", "alpha", "cell", "ours", "ours_se", "paper", "paper_se", "difference", "standard_errors", "verdict"}}
	for _, r := range rows {
		alpha := ""
		if r.Alpha >= 0 {
			alpha = written(r.Alpha)
		}
		same := []string{r.Dataset, r.Loss, written(r.Epsilon), r.Method, strconv.FormatBool(r.ARD), alpha}
		line := slices.Concat(same, []string{strconv.Itoa(r.Inducing), strconv.Itoa(r.reps), written(r.seconds)})
		for _, c := range columns {
			line = append(line, written(r.ours[c.name].mean), written(r.ours[c.name].se))
			difference, off, words := r.verdict(c.name)
			cells = append(cells, slices.Concat(same, []string{
				c.name, written(r.ours[c.name].mean), written(r.ours[c.name].se),
				written(r.paper[c.name].mean), written(r.paper[c.name].se), written(difference), written(off), words,
			}))
		}
		table = append(table, line)
	}
	return errors.Join(
		writeCSV(filepath.Join(o.out, name+".csv"), table),
		writeCSV(filepath.Join(o.out, name+"-compared.csv"), cells),
		drawBars(name, rows, o.out),
		o.onPage(name, markdown(rows), rows),
	)
}

func writeCSV(path string, records [][]string) error {
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(records); err != nil {
		return err
	}
	return durable.WriteFile(durable.OS{}, path, out.Bytes())
}
