package job

import (
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A UnitDecl declares independent examples that are sets of rows. Each unit has one subset, by a keyed
// hash, and its loss is the mean over its rows. The zero value makes each row an example.
type UnitDecl struct {
	Columns []string `json:"columns,omitempty"` // rows of one unit have equal values in them; they are no features
}

// unitHoldout is the share of held-out units where the job names none: units are few.
const unitHoldout = 0.2

// MaxUnits bounds the units of a sample, of which each takes memory.
const MaxUnits = 1 << 18

// Given reports whether examples are units of several rows.
func (d UnitDecl) Given() bool { return len(d.Columns) > 0 }

// ShowsCount reports whether the held-out guarantee shows a count of losses of 0 and 1.
func (j Job) ShowsCount() bool {
	return j.Loss.Kind.Counts() && !j.Unit.Given()
}

// checkUnit finds faults of the units, and what does not go with them.
func (j Job) checkUnit(faults *faultList) {
	d := j.Unit
	if !d.Given() {
		return
	}
	for i, name := range d.Columns {
		faults.of("unit", certify.ColumnName(name))
		faults.when(name == j.Target || slices.Contains(j.Features, name) || slices.Contains(d.Columns[:i], name),
			"unit: %q is the target, a feature, or named twice: a fresh unit has a value that no model has seen", name)
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

// Counted are the units of a job with these counts; nil: examples are rows.
func (d UnitDecl) Counted(found *certify.UnitCounts) *certify.UnitCounts {
	if !d.Given() || found == nil {
		return nil
	}
	l := *found
	l.Columns = d.Columns
	return &l
}
