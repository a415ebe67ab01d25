package pipeline

import (
	"github.com/pacsgp/pacsgp/certify"
)

// holdoutFromRows is the number of rows from which some are held out by default. With fewer, a
// hold-out bound is not worth the train rows that it costs.
const holdoutFromRows = 300

// holdoutShare is the share of n rows that is held out where the job names none. A hold-out
// bound is lowest at about a quarter of the rows, up to some thousands of them; from then on
// more rows are worth more to training (docs/howto/tolerance.md).
func holdoutShare(n int64) float64 {
	switch {
	case n < 1000:
		return 0.3
	case n < 5000:
		return 0.2
	default:
		return 0.1
	}
}

// both are PAC-Bayes and a method of hold-out rows: the default for a job with hold-out rows.
func both(id certify.MethodID) []certify.MethodID {
	return []certify.MethodID{certify.MethodPACBayes, id}
}

// withMethods completes the methods and the share of the hold-out rows, as far as they do
// not depend on the number of rows.
func (j Job) withMethods(fault func(string, ...any)) Job {
	if j.Mean.given() && !j.outside() {
		j = j.withInside(fault)
	}
	j = j.withGroups(fault)
	if len(j.Guarantees) == 0 {
		if j.Roles.Holdout == 0 && !j.Loss.any() {
			j.Guarantees = nil
			return j
		}
		j.Guarantees = both(j.Loss.heldOut())
	}
	if err := certify.ValidMethods(j.Guarantees); err != nil {
		fault("guarantees: %w", err)
	}
	switch curve := (certify.Delta{Methods: j.Guarantees}).Applies(certify.MethodCurve); {
	case curve && j.Loss.Kind != certify.LossZeroOne:
		fault("guarantees: %s is about errors beyond a tolerance, and goes with loss.kind %s", certify.MethodCurve, certify.LossZeroOne)
	case !curve && j.Loss.any():
		fault("loss.tolerance: %s needs the method %s among guarantees", AnyTolerance, certify.MethodCurve)
	}
	share := j.Roles.Holdout
	switch holdout := (certify.Delta{Methods: j.Guarantees}).Uses(certify.RoleHoldout); {
	case holdout && !(0 <= share && share <= 0.9):
		fault("roles.holdout: %v is no share of the rows above 0 and at most 0.9", share)
	case !holdout && share != 0:
		fault("roles.holdout: hold-out rows are for the methods %s and %s, of which guarantees names none", certify.MethodHoldout, certify.MethodCurve)
	}
	return j
}

// ForRows fills in the defaults that depend on the number of rows n: methods, share of hold-out
// rows, step of the grid. From 300 rows on the methods are PAC-Bayes and a hold-out; with fewer
// PAC-Bayes alone. From 30,000 rows on the step is 0.05, with fewer
// 0.25. The job keeps the identity of its declaration.
func (j Job) ForRows(n int64) Job {
	enough, share := n >= holdoutFromRows, holdoutShare(n)
	if j.declaration == nil {
		declared := j
		j.declaration = &declared
	}
	if j.Unit.given() {
		n, enough, share = 0, true, unitHoldout // the rows of train units have no say in the prior
	}
	j.Grid = j.Grid.forRows(n)
	if len(j.Guarantees) == 0 {
		if j.Guarantees = both(certify.MethodHoldout); !enough {
			j.Guarantees = j.Guarantees[:1]
		}
	}
	if j.Roles.Holdout == 0 && j.Spends().Uses(certify.RoleHoldout) {
		j.Roles.Holdout = share
	}
	return j
}
