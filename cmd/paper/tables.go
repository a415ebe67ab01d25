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
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"
)

// The tables of the supplement of Reeb et al. 2018, means over ten splits and their
// standard errors.
//
//go:embed testdata/paper-tables.csv
var paperTables []byte

// A column is one number of a row, and what it says of findings.
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

// A row is a row of a table: the unit without its seed, and what is known of it.
type row struct {
	unit
	paper, ours map[string]estimate
	reps        int
	seconds     float64
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

// tableRows are the paper's rows of a table, those with the posterior that the published
// code evaluates, and our default in the same protocol.
func tableRows(table string, o options) ([]row, error) {
	rows, err := published(table)
	if err != nil {
		return nil, err
	}
	var all []row
	for _, r := range rows {
		r.Most = o.evaluations
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
		r.Method, r.Inducing = "free-form", 0
		all = append(all, r)
	}
	return all, nil
}

// runTable makes the units of a table that are not there yet, and writes what is known.
func runTable(ctx context.Context, table string, o options) error {
	rows, err := tableRows(table, o)
	if err != nil {
		return err
	}
	units := filepath.Join(o.out, "units")
	if err := os.MkdirAll(units, 0o755); err != nil { //nolint:gosec // results are for everybody to read
		return err
	}
	var kept []row
	sets := map[string]dataTable{}
	for _, r := range rows {
		if _, err := os.Stat(filepath.Join(o.data, r.Dataset)); errors.Is(err, os.ErrNotExist) {
			if _, told := sets[r.Dataset]; !told {
				fmt.Fprintf(os.Stderr, "%s is not in %s: its rows are left out\n", r.Dataset, o.data)
				sets[r.Dataset] = dataTable{}
			}
			continue
		}
		if o.only != "" && !strings.Contains(r.label(), o.only) {
			continue
		}
		if _, ok := sets[r.Dataset]; !ok {
			t, err := readTable(ctx, o.data, r.Dataset)
			if err != nil {
				return err
			}
			sets[r.Dataset] = t
		}
		kept = append(kept, r)
	}
	var todo []unit
	for seed := range o.reps {
		for _, r := range kept {
			u := r.unit
			u.Seed = seed
			if _, ok, err := stored(units, u); err != nil {
				return err
			} else if !ok {
				todo = append(todo, u)
			}
		}
	}
	began := time.Now()
	for i, u := range todo {
		f, err := u.run(ctx, sets[u.Dataset])
		if err != nil {
			return err
		}
		if err := f.store(units); err != nil {
			return err
		}
		spent := time.Since(began)
		left := spent / time.Duration(i+1) * time.Duration(len(todo)-i-1)
		fmt.Fprintf(os.Stderr, "%d/%d %s, split %d: B %.4f, test %.4f, %d gradients, %.0f s; about %s left\n",
			i+1, len(todo), row{unit: u}.label(), u.Seed, f.Bound, f.Test, f.Steps, f.Seconds, left.Round(time.Second))
	}
	for i := range kept {
		if err := kept[i].gather(units, o.reps); err != nil {
			return err
		}
	}
	return writeTable(table, kept, o)
}

// gather takes the mean over the splits.
func (r *row) gather(units string, reps int) error {
	var found []finding
	for seed := range reps {
		u := r.unit
		u.Seed = seed
		f, ok, err := stored(units, u)
		if err != nil || !ok {
			return errors.Join(err, fmt.Errorf("%s is missing", u.name()))
		}
		found = append(found, f)
		r.seconds += f.Seconds / float64(reps)
	}
	r.ours, r.reps = map[string]estimate{}, reps
	for _, c := range columns {
		var values []float64
		for _, f := range found {
			values = append(values, c.of(f))
		}
		mean, deviation := stat.MeanStdDev(values, nil)
		if reps < 2 {
			deviation = math.NaN()
		}
		r.ours[c.name] = estimate{mean, deviation / math.Sqrt(float64(reps))}
	}
	return nil
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
	spread := math.Hypot(own, paper.se)
	beyond := max(0, math.Abs(difference)-0.0005)
	if off = beyond / max(spread, 1e-12); beyond == 0 {
		off = 0
	}
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
	number := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	for _, r := range rows {
		alpha := ""
		if r.Alpha >= 0 {
			alpha = number(r.Alpha)
		}
		same := []string{r.Dataset, r.Loss, number(r.Epsilon), r.Method, strconv.FormatBool(r.ARD), alpha}
		line := slices.Concat(same, []string{strconv.Itoa(r.Inducing), strconv.Itoa(r.reps), number(r.seconds)})
		for _, c := range columns {
			line = append(line, number(r.ours[c.name].mean), number(r.ours[c.name].se))
			difference, off, words := r.verdict(c.name)
			cells = append(cells, slices.Concat(same, []string{
				c.name, number(r.ours[c.name].mean), number(r.ours[c.name].se),
				number(r.paper[c.name].mean), number(r.paper[c.name].se), number(difference), number(off), words,
			}))
		}
		table = append(table, line)
	}
	return errors.Join(
		writeCSV(filepath.Join(o.out, name+".csv"), table),
		writeCSV(filepath.Join(o.out, name+"-compared.csv"), cells),
		os.WriteFile(filepath.Join(o.out, name+".md"), markdown(rows), 0o644), //nolint:gosec // results are for everybody to read
		drawBars(name, rows, o.out),
	)
}

func writeCSV(path string, records [][]string) error {
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(records); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644) //nolint:gosec // results are for everybody to read
}

// markdown is the comparison for readers: each cell ours, then the paper's.
func markdown(rows []row) []byte {
	var out bytes.Buffer
	out.WriteString("| row | splits | B | paper | verdict | R train | paper | R test | paper | MSE | paper | KL/N | paper | σ_n² | paper | s |\n|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|\n")
	short := func(e estimate) string {
		switch {
		case math.IsNaN(e.mean):
			return ""
		case math.IsNaN(e.se):
			return fmt.Sprintf("%.4f", e.mean)
		}
		return fmt.Sprintf("%.4f ± %.4f", e.mean, e.se)
	}
	printed := func(e estimate) string {
		if math.IsNaN(e.mean) {
			return ""
		}
		return fmt.Sprintf("%.3f", e.mean)
	}
	for _, r := range rows {
		difference, off, words := r.verdict("B")
		if words != "as in the paper" && !math.IsNaN(off) {
			words = fmt.Sprintf("%s by %.4f", words, math.Abs(difference))
		}
		fmt.Fprintf(&out, "| %s | %d | %s | %.3f | %s ", r.label(), r.reps, short(r.ours["B"]), r.paper["B"].mean, words)
		for _, c := range []string{"R_train", "R_test", "mse", "kl_per_n", "sigma2"} {
			paper := printed(r.paper[c])
			if r.Method == "free-form" {
				paper = ""
			}
			fmt.Fprintf(&out, "| %s | %s ", short(r.ours[c]), paper)
		}
		fmt.Fprintf(&out, "| %.0f |\n", r.seconds)
	}
	return out.Bytes()
}
