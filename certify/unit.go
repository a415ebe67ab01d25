package certify

import (
	"math/bits"
	"slices"
)

// LeastUnits is the least number of training units, and of held-out units.
const LeastUnits = 30

// UnitCounts describe independent examples that are sets of rows, called units. All rows of a unit are in one
// subset, and its loss is the mean over its rows. Bounds count units, not rows.
type UnitCounts struct {
	Columns []string `json:"columns"` // rows with equal values in all of them form a unit
	Prior   int64    `json:"prior"`
	Train   int64    `json:"training"`
	Holdout int64    `json:"holdout"`
	Largest int64    `json:"largest"` // number of rows of the largest unit
}

// Example returns the word for one example: "unit" or "row".
func (l Counts) Example() string {
	if l.Units != nil {
		return "unit"
	}
	return "row"
}

// labels returns the columns of the sample that identify units.
func (l Counts) labels() []string {
	if l.Units == nil {
		return nil
	}
	return l.Units.Columns
}

// validateUnits checks the units against counts, sample and methods.
func (ev Evidence) validateUnits() error {
	u, l := ev.Counts.Units, ev.Counts
	if u == nil {
		return nil
	}
	var faults faultList
	faults.when(len(u.Columns) == 0, "units by no column")
	for _, subset := range []struct{ units, rows, least int64 }{{u.Prior, l.Prior, 1}, {u.Train, l.Training, LeastUnits}, {u.Holdout, l.Holdout, LeastUnits}} {
		faults.when((subset.rows > 0) != (subset.units > 0) || subset.units < 0 || subset.units > subset.rows || subset.rows > 0 && subset.units < subset.least,
			"%d units of %d rows in one subset: want %d at the least", subset.units, subset.rows, subset.least)
	}
	rows, units := l.Prior+l.Training+l.Holdout, u.Prior+u.Train+u.Holdout
	faults.when(u.Largest < 1 || u.Largest > rows-units+1 || (rows-1)/u.Largest >= units, "the largest of %d units has %d of %d rows", units, u.Largest, rows)
	last := len(ev.Sample.Columns) - 1
	k := len(u.Columns)
	faults.when(last < k || !slices.Equal(ev.Sample.Columns[last-k:last], u.Columns), "the columns %s of the units do not stand before the target in %s", List(u.Columns), List(ev.Sample.Columns))
	faults.when(ev.Mean != nil || ev.Delta.Applies(MethodCurve) || ev.Duplicates.Policy == DuplicatesDropped || len(ev.Sample.Segments) > 0,
		"units do not go with a column of the mean, a curve, duplicates that are left out, or rows of a log")
	return faults.err()
}

// MeanUnits returns the mean loss in units of 2⁻⁶⁰, rounded down and up. It requires at least one loss.
func (s RiskSum) MeanUnits() (down, up uint64) {
	down, rest := bits.Div64(s.hi, s.lo, uint64(s.count)) //nolint:gosec // count > 0, and hi < count, for no loss is above 2⁶⁰
	return down, down + min(rest, 1)
}

// AddUnit adds one example whose loss is the mean of the losses of its rows, rounded up, or down if lower is
// set. If spread is set, it adds the loss to the spread too.
func (t *LossSum) AddUnit(rows RiskSum, lower, spread bool) error {
	down, mean := rows.MeanUnits()
	if lower {
		mean = down
	}
	if spread {
		if t.Spread == nil {
			t.Spread = &Spread{}
		}
		t.Spread.addUnits(mean)
	}
	return t.Risk.AddUnits(mean)
}
