package certify

import (
	"strings"
	"testing"
)

// withUnits is evidence with 40 held-out units.
func withUnits(t testing.TB) Evidence {
	t.Helper()
	ev := sound(t)
	u := UnitCounts{Columns: []string{"day"}, Prior: 20, Train: 300, Holdout: 40, Largest: 60}
	ev.Counts = Counts{Units: &u, Rows: 12700, Prior: 600, Training: 12005, Holdout: 85, Rejected: 10}
	ev.Duplicates = Duplicates{Policy: DuplicatesKept, Rows: 5}
	ev.Dependence = dependence(12605, -.0123)
	ev.Sample.Columns = []string{"distance", "hour", "day", "delay"}
	ev.LossSums = LossSums{{PredictorDraw, SubsetTraining}: {Risk: ones(9, 300)}, {PredictorMean, SubsetHoldout}: {Risk: ones(2, 40), Spread: Missed(2, 40)}}
	ev.Constant.Risk = ones(180, 300)
	return ev
}

// The counts of units fit rows, columns and methods.
func TestUnitsAreValidated(t *testing.T) {
	for want, change := range map[string]func(ev *Evidence){
		"units by no column":                func(ev *Evidence) { ev.Counts.Units.Columns = nil },
		"29 units of 85 rows in one subset": func(ev *Evidence) { ev.Counts.Units.Holdout = 29 },
		"601 units of 600 rows":             func(ev *Evidence) { ev.Counts.Units.Prior = 601 },
		"the largest of 360 units has 20 ":  func(ev *Evidence) { ev.Counts.Units.Largest = 20 },
		"12006 of 12005 training rows are ": func(ev *Evidence) { ev.LossSums.At(PredictorDraw, SubsetTraining).Unproven = 12006 },
		"do not stand before the target":    func(ev *Evidence) { ev.Counts.Units.Columns = []string{"hour"} },
		"units do not go with": func(ev *Evidence) {
			ev.Delta.Methods = []MethodID{MethodPACBayes, MethodCurve}
		},
	} {
		ev := withUnits(t)
		change(&ev)
		if _, err := Certify(ev); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
