package certify

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
)

const (
	// LeastUnits is the least number of train units, and of hold-out units.
	LeastUnits = 30
	// MostCurveUnits is the largest number of hold-out units of a curve.
	MostCurveUnits = 1 << 14
	// CurveUnitBytes is the memory of each while its rows are counted.
	CurveUnitBytes = 8 * curveTolerances
)

// A UnitLedger describes independent examples that are sets of rows. Each has one role, and its loss is the
// mean over its rows. Guarantees count units.
type UnitLedger struct {
	Columns []string `json:"columns,omitempty"` // rows of one unit have equal values in them
	Block   int64    `json:"block,omitempty"`   // or are so many consecutive rows
	// Misses is a share of rows, from 0 to below 1: a hold-out unit has the loss 1 if more of its rows are
	// missed, else 0. Nil: its loss is the mean, as that of a train unit always is.
	Misses    *float64 `json:"misses,omitempty"`
	Reference int64    `json:"reference"`
	Train     int64    `json:"train"`
	Holdout   int64    `json:"holdout"`
	Largest   int64    `json:"largest"` // most rows of one unit
}

// Words says what a unit is.
func (u UnitLedger) Words() string { return u.words("unit", "block") }

// Several says what units are.
func (u UnitLedger) Several() string { return u.words("units", "blocks") }

func (u UnitLedger) words(unit, block string) string {
	if u.Block > 0 {
		return fmt.Sprintf("%s of %d rows", block, u.Block)
	}
	names := make([]string, len(u.Columns))
	for i, name := range u.Columns {
		names[i] = quoted(name)
	}
	return unit + " of " + strings.Join(names, " and ")
}

// Counted is a number of such units.
func (u UnitLedger) Counted(n int64) string {
	if n == 1 {
		return "1 " + u.Words()
	}
	return fmt.Sprintf("%d %s", n, u.Several())
}

// counts names what the ledger's numbers of examples count.
func (l Ledger) counts() string {
	if l.Units != nil {
		return l.Units.Words()
	}
	return "row"
}

// Example is the word for what N counts.
func (l Ledger) Example() string {
	if l.Units != nil {
		return "unit"
	}
	return "row"
}

// missing is the share of a unit's rows above which it misses, for guarantees from examples of a role. Nil:
// losses are of rows, or means.
func (l Ledger) missing(role Role) *float64 {
	if l.Units == nil || role != RoleHoldout {
		return nil
	}
	return l.Units.Misses
}

// labels are the columns of the sample that tell units apart.
func (l Ledger) labels() []string {
	if l.Units == nil {
		return nil
	}
	return l.Units.Columns
}

// validateUnits checks the units against ledger, sample and methods.
func (ev Evidence) validateUnits() error {
	u, l := ev.Ledger.Units, ev.Ledger
	if u == nil {
		return nil
	}
	var faults []error
	if (u.Block > 0) == (len(u.Columns) > 0) || u.Block < 0 {
		faults = append(faults, fmt.Errorf("units by the columns %q and in blocks of %d rows: want one of them", u.Columns, u.Block))
	}
	for _, role := range []struct{ units, rows, least int64 }{{u.Reference, l.Reference, 1}, {u.Train, l.Train, LeastUnits}, {u.Holdout, l.Holdout, LeastUnits}} {
		if (role.rows > 0) != (role.units > 0) || role.units < 0 || role.units > role.rows || role.rows > 0 && role.units < role.least {
			faults = append(faults, fmt.Errorf("%d units of %d rows with one role: want %d at the least", role.units, role.rows, role.least))
		}
	}
	rows, units := l.Reference+l.Train+l.Holdout, u.Reference+u.Train+u.Holdout
	if u.Largest < 1 || u.Largest > rows-units+1 || (rows-1)/u.Largest >= units {
		faults = append(faults, fmt.Errorf("the largest of %d units has %d of %d rows", units, u.Largest, rows))
	}
	if q := u.Misses; q != nil && !(0 <= *q && !math.Signbit(*q) && *q < 1 && ev.Loss.Kind.Counts() && l.Holdout > 0) { // written so that NaN fails
		faults = append(faults, fmt.Errorf("units that miss if more than %g of their rows do: want a share from 0 to below 1, losses of 0 and 1, and hold-out units", *q))
	}
	last := len(ev.Sample.Columns) - 1
	if k := len(u.Columns); last < k || !slices.Equal(ev.Sample.Columns[last-k:last], u.Columns) {
		faults = append(faults, fmt.Errorf("the columns %q of the units do not stand before the target in %q", u.Columns, ev.Sample.Columns))
	}
	if ev.Delta.Applies(MethodCurve) && (u.Misses == nil || u.Holdout > MostCurveUnits) {
		faults = append(faults, fmt.Errorf("a curve of %d hold-out units: it takes units that miss by a share of their rows, and at most %d of them", u.Holdout, MostCurveUnits))
	}
	if ev.Mean != nil || ev.Roles.Last || ev.Copies.Policy == CopiesDropped || len(ev.Sample.Segments) > 0 {
		faults = append(faults, errors.New("units do not go with a column of the mean, last hold-out rows, copies that are left out, or rows of a log"))
	}
	return errors.Join(faults...)
}

// MeanUnits returns the mean loss in units of 2⁻⁶⁰, rounded down and up. There is at least one loss.
func (s RiskSum) MeanUnits() (down, up uint64) {
	down, rest := bits.Div64(s.hi, s.lo, uint64(s.count)) //nolint:gosec // count > 0, and hi < count, for no loss is above 2⁶⁰
	return down, down + min(rest, 1)
}

// Missed returns 1 if the mean of losses is above the share for which a unit misses, else 0, which is
// decided exactly. Without such a share it is 0. There is at least one loss.
func (u UnitLedger) Missed(losses RiskSum) (int64, error) {
	if u.Misses == nil {
		return 0, nil
	}
	share, err := decimal(*u.Misses)
	if err != nil || losses.ratio().Cmp(share) <= 0 {
		return 0, err
	}
	return 1, nil
}

// AddHeldOut adds one hold-out unit to a tally, by upper bounds on the losses of its rows, and for a curve
// by their errors: the unit is beyond each tolerance that more than the share of its rows is beyond.
func (u UnitLedger) AddHeldOut(to *Tally, rows Tally) error {
	if u.Misses == nil {
		return to.AddUnit(rows.Risk, false, true)
	}
	missed, err := u.Missed(rows.Risk)
	err = errors.Join(err, to.Risk.Merge(ones(missed, 1)))
	if rows.Beyond == nil || err != nil {
		return err
	}
	if to.Beyond == nil {
		to.Beyond = make([]int64, curveTolerances)
	}
	first := sort.Search(curveTolerances, func(i int) bool {
		beyond, fault := u.Missed(ones(rows.Beyond[i], rows.Risk.Count()))
		err = errors.Join(err, fault)
		return beyond == 0
	})
	for i := range to.Beyond[:first] {
		to.Beyond[i]++
	}
	return err
}

// AddUnit adds one example whose loss is the mean of the losses of rows, rounded up; if lower, rounded
// down. With spread it is added to the spread of losses too.
func (t *Tally) AddUnit(rows RiskSum, lower, spread bool) error {
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

// doubts are what a reader of bounds by unit should know: l has the rows.
func (u UnitLedger) doubts(l Ledger) []string {
	said := []string{fmt.Sprintf("The independent examples are %s. That they were told apart without the target, and that one says nothing of another, is declared: nothing here measures it.", u.Several())}
	if rows, units := l.Reference+l.Train+l.Holdout, u.Reference+u.Train+u.Holdout; u.Largest > rows/5 {
		said = append(said, fmt.Sprintf("One unit has %d of %d rows, and counts as one of %d units: a bound about units says little of rows.", u.Largest, rows, units))
	}
	return said
}

// small reports whether units have two rows or fewer on average, so that neighbouring rows are mostly of
// different units.
func (u UnitLedger) small(l Ledger) bool {
	return l.Reference+l.Train+l.Holdout <= 2*(u.Reference+u.Train+u.Holdout)
}

// part says of which part of its rows more is missed if a unit misses.
func (u UnitLedger) part() string {
	if *u.Misses == 0 {
		return "some"
	}
	return "more than " + PercentDeclared(*u.Misses)
}

// rest says of which part of its rows more is not missed if a unit does not miss.
func (u UnitLedger) rest() string {
	if *u.Misses == 0 {
		return "none"
	}
	return "at most " + PercentDeclared(*u.Misses)
}

// ofUnits rewrites a method's description for units.
func ofUnits(method string) string {
	return strings.NewReplacer("the order of the rows", "the order of the units", "on rows", "on units", "of one row", "of one unit").Replace(method)
}
