package job

import (
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A UnitDecl declares units: sets of rows that are the independent examples. A keyed hash puts all rows of a unit
// into one subset, and the loss of a unit is the mean over its rows. With the zero value each row is an example.
type UnitDecl struct {
	Columns []string `json:"columns,omitempty"` // the rows of a unit have equal values in these columns, which are no features
}

// unitHoldout is the default share of held-out units. It is larger than that of rows, because units are few.
const unitHoldout = 0.2

// MaxUnits is the largest number of units in a dataset. Each takes memory.
const MaxUnits = 1 << 18

// Given reports whether examples are units of several rows.
func (d UnitDecl) Given() bool { return len(d.Columns) > 0 }

// ShowsCount reports whether the held-out evidence is a number of missed rows.
func (j Job) ShowsCount() bool {
	return j.Loss.Kind.Counts() && !j.Unit.Given()
}

// checkUnit adds faults of the units, and of declarations that exclude units.
func (j Job) checkUnit(faults *faultList) {
	d := j.Unit
	if !d.Given() {
		return
	}
	for i, name := range d.Columns {
		faults.of("unit", certify.ColumnName(name))
		faults.when(name == j.Target || slices.Contains(j.Features, name) || slices.Contains(d.Columns[:i], name),
			"unit: %q is also the target or one of features, or is named twice: leave it out there, for a new unit has a value that no model has seen", name)
	}
	for _, other := range []struct {
		given bool
		words string
	}{
		{j.Mean.Given(), "mean"},
		{j.Split.Last, "split.holdout last: the split follows from units"},
		{j.Duplicates.Policy == DuplicatesDropped, "duplicates: drop"},
		{j.Spends().Applies(certify.MethodCurve), "a curve (loss.tolerance any, or guarantees: " + string(certify.MethodCurve) + ")"},
	} {
		faults.when(other.given, "unit: it does not go with %s", other.words)
	}
}

// Counted returns a copy of the counts with the columns of the units, or nil if examples are rows or found is nil.
func (d UnitDecl) Counted(found *certify.UnitCounts) *certify.UnitCounts {
	if !d.Given() || found == nil {
		return nil
	}
	l := *found
	l.Columns = d.Columns
	return &l
}
