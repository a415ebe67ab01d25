package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/model"
)

// more is a factor of the paper's number of inducing points. Rows of free-form Q also exist with so many points.
var more = map[string]int{"pol": 3, "kin40k": 6}

// tableRows returns the rows of a table: the paper's, the same after pre-training and by mini-batches, VFE with
// its own posterior, and our default method in the same protocol.
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
		rows[i].made = fmt.Sprintf("`%s`; %s", o.command, measured.Machine(rows[i].made))
	}
	return writeTable(table, rows, o)
}

// made computes the chosen rows, except those whose data set is missing.
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

// chosen returns the rows that match -only. None is an error.
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

// complete computes the missing units of rows, on the data that split returns, and sets the numbers of the rows.
func complete(ctx context.Context, rows []row, o options, split func(unit) (train, test measured.Dataset, err error)) error {
	units, searches := filepath.Join(o.out, "units"), filepath.Join(o.out, "searches")
	for _, dir := range []string{units, searches} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are for everybody to read
			return err
		}
	}
	found := make([][]result, len(rows))
	for seed := range o.reps {
		for i, r := range rows {
			u := r.unit
			u.Seed = seed
			f, err := cached(filepath.Join(units, u.name()), func() (f result, err error) {
				train, test, err := split(u)
				if err != nil {
					return f, err
				}
				if f, err = u.fit(ctx, searches, train, test); err == nil {
					fmt.Fprintf(os.Stderr, "split %d of %d, row %d of %d, %s: B %.4f, test %.4f, %d gradients, %.0f s\n",
						seed+1, o.reps, i+1, len(rows), r.label(), f.Bound, f.Test, f.Steps, f.Seconds)
				}
				return f, err
			})
			if err != nil {
				return err
			}
			found[i] = append(found[i], f)
		}
	}
	for i := range rows {
		rows[i].gather(found[i])
	}
	return nil
}

// writeTable writes the rows, for boston the figure, and with -write the stored results and the page.
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
		err = drawBoston(rows, o)
	}
	return errors.Join(err, o.onPage(name, text))
}
