package main

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// What ends the first pass ends it on an engine with the words of pacsgp train: an error of a row with
// its file, one of all rows as it is. Nothing can be certified then.
func TestErrorsOfTheFirstPass(t *testing.T) {
	for name, c := range map[string]struct {
		change func(rows []row)
		lines  []string
		part   bool // it is found by a part
		want   string
	}{
		"rejected row":           {func(rows []row) { rows[7].X2 = math.NaN() }, nil, true, "row 7"},
		"constant column":        {func(rows []row) { constant(rows, 3) }, []string{"features: [x1, x2]"}, false, `feature "x2" has one value`},
		"duplicates":             {func(rows []row) { copy(rows[10:], rows[:20]) }, []string{"duplicates: {limit: 1 %}"}, false, "equal an earlier row"},
		"too many rejected rows": {func(rows []row) { rows[7].X2 = math.NaN() }, []string{"rejected: {limit: 0.1 %}"}, false, "break a row rule"},
	} {
		t.Run(name, func(t *testing.T) {
			path := testJob(t, c.lines...)
			for i, file := range lakeOf(t, path) {
				rows := unrelated(60, uint64(i))
				if i == 1 || name == "constant column" {
					c.change(rows)
				}
				replace(t, file, rows)
			}
			d := on(t, path)
			err := d.train(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			_, alone := byPacsgp(t, path)
			got, want := err.Error(), alone.Error()
			if c.part {
				want = "part 2/3 of the first pass: " + want
			}
			if got != want || !strings.Contains(got, c.want) {
				t.Errorf("train() = %v, want %v, and %q in it", got, want, c.want)
			}
			if status(err) != status(alone) {
				t.Errorf("status %d, want %d", status(err), status(alone))
			}
			if err := d.certify(t.Context()); err == nil {
				t.Error("certified")
			}
			d.nothingPublished(t)
		})
	}
}

// constant gives all rows one value.
func constant(rows []row, v float64) {
	for i := range rows {
		rows[i].X2 = v
	}
}

// A lake that changes between the two passes ends in no certificate.
func TestLakeChangesBetweenThePasses(t *testing.T) {
	path := testJob(t)
	d := on(t, path)
	fatal.If(t, d.train(t.Context()))
	replace(t, lakeOf(t, path)[1], unrelated(60, 5))
	if err := d.certify(t.Context()); !errors.Is(err, job.ErrChanged) {
		t.Errorf("certify() = %v", err)
	}
	d.nothingPublished(t)
}
