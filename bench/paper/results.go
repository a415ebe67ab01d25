package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// readRows reads the rows of a table from CSV: numbers and their standard errors.
func readRows(text, table string) ([]row, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comment = '#'
	records, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, r := range records[1:] {
		cell := func(name string) string {
			if i := slices.Index(records[0], name); i >= 0 {
				return r[i]
			}
			return ""
		}
		number := func(name string) float64 {
			if v, err := strconv.ParseFloat(cell(name), 64); err == nil {
				return v
			}
			return math.NaN()
		}
		whole := func(name string) int { v, _ := strconv.Atoi(cell(name)); return v }
		if cell("table") != table {
			continue
		}
		out := row{reps: whole("repetitions"), made: cell("made"), ours: map[string]estimate{}}
		out.unit = unit{
			Table: table, Dataset: cell("dataset"), Loss: cell("loss"), Epsilon: number("epsilon"), Method: cell("method"), ARD: cell("ard") == "yes",
			Alpha: -1, Inducing: whole("inducing"), Most: whole("evaluations"), Start: cell("start"),
		}
		if v := number("alpha"); !math.IsNaN(v) {
			out.Alpha = v
		}
		for _, c := range columns {
			out.ours[c.name] = estimate{number(c.name), number(c.name + "_se")}
		}
		rows = append(rows, out)
	}
	return rows, nil
}

// writeRows writes rows in the form that readRows reads.
func writeRows(path string, rows []row) error {
	records := [][]string{{"table", "dataset", "loss", "epsilon", "method", "ard", "alpha", "inducing", "evaluations", "start", "repetitions", "made"}}
	for _, c := range columns {
		records[0] = append(records[0], c.name, c.name+"_se")
	}
	for _, r := range rows {
		alpha, ard := "", "no"
		if r.Alpha >= 0 {
			alpha = written(r.Alpha)
		}
		if r.ARD {
			ard = "yes"
		}
		record := []string{
			r.Table, r.Dataset, r.Loss, written(r.Epsilon), r.Method, ard, alpha, strconv.Itoa(r.Inducing), strconv.Itoa(r.Most), r.Start,
			strconv.Itoa(r.reps), r.made,
		}
		for _, c := range columns {
			record = append(record, written(r.ours[c.name].mean), written(r.ours[c.name].se))
		}
		records = append(records, record)
	}
	return writeCSV([]string{path}, records)
}

// keep adds rows to the stored results if -write is set. They replace those of the same units, which must not
// have more splits.
func (o options) keep(rows []row) error {
	if !o.write {
		return nil
	}
	var all []row
	for _, table := range []string{"boston", "sparse", "exp"} {
		stored, err := o.results(table)
		if err != nil {
			return err
		}
		for _, r := range stored {
			i := slices.IndexFunc(rows, func(s row) bool { return s.unit == r.unit })
			if i >= 0 && rows[i].reps < r.reps {
				return fmt.Errorf("%s is stored with %d splits: -write leaves it as it is for %d", r.label(), r.reps, rows[i].reps)
			}
			if i < 0 {
				all = append(all, r)
			}
		}
		for _, r := range rows {
			if r.Table == table {
				all = append(all, r)
			}
		}
	}
	return writeRows(o.pathOf("results.csv"), all)
}

// results returns the stored rows of a table, with the paper's numbers.
func (o options) results(table string) ([]row, error) {
	text, err := os.ReadFile(o.pathOf("results.csv"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	rows, err := readRows(string(text), table)
	if err != nil {
		return nil, err
	}
	theirs, err := publishedRows(table)
	position := func(r row) int {
		return slices.IndexFunc(theirs, func(p row) bool { return p.setting() == r.setting() })
	}
	after := func(r row) int { return slices.Index([]string{published, pretrained, minibatch, ""}, r.Start) }
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(position(a), position(b)), cmp.Compare(after(a), after(b)), cmp.Compare(b.Alpha, a.Alpha), cmp.Compare(a.Inducing, b.Inducing))
	})
	for i, r := range rows {
		if at := position(r); at >= 0 {
			rows[i].paper = theirs[at].paper
		}
	}
	return rows, err
}

func writeCSV(paths []string, records [][]string) error {
	var out bytes.Buffer
	err := csv.NewWriter(&out).WriteAll(records)
	for _, path := range paths {
		err = errors.Join(err, durable.WriteFile(durable.OS{}, path, out.Bytes()))
	}
	return err
}

// publishedTables are the numbers of the paper's tables, as CSV with comments.
//
//go:embed paper.csv
var publishedTables string

// publishedRows returns the paper's rows of a table.
func publishedRows(table string) ([]row, error) {
	rows, err := readRows(publishedTables, table)
	for i := range rows {
		rows[i].paper, rows[i].ours = rows[i].ours, nil
	}
	return rows, err
}
