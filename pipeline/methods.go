package pipeline

import (
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// Which methods a certificate applies where the job does not say, and to which rows.
const (
	// holdoutFromRows is the number of rows from which on some are held out: fewer leave
	// too few of them for a bound that is worth their loss.
	holdoutFromRows = 2000
	// defaultHoldout is the share of the rows that are held out.
	defaultHoldout = 0.1
)

// defaultWeight is the part of delta that a method gets in proportion to others. Among the
// thousands of nats that a PAC-Bayes bound pays, a smaller part of delta costs it little
// (ln 10 nats), and a hold-out pays for nothing else.
func defaultWeight(method certify.MethodID) int64 {
	if method == certify.MethodHoldout {
		return 9
	}
	return 1
}

// both are the methods of a job that has hold-out rows and names none.
func both() []certify.MethodWeight {
	return []certify.MethodWeight{
		{ID: certify.MethodPACBayes, Weight: defaultWeight(certify.MethodPACBayes)},
		{ID: certify.MethodHoldout, Weight: defaultWeight(certify.MethodHoldout)},
	}
}

// withMethods completes the methods and the share of the hold-out rows, as far as that
// does not depend on the number of rows.
func (j Job) withMethods(fault func(string, ...any)) Job {
	if len(j.Guarantees) == 0 {
		if j.Roles.Holdout == 0 {
			j.Guarantees = nil
			return j
		}
		j.Guarantees = both()
	}
	j.Guarantees = slices.Clone(j.Guarantees)
	for i := range j.Guarantees {
		if m := &j.Guarantees[i]; m.Weight == 0 {
			m.Weight = defaultWeight(m.ID)
		}
	}
	if err := certify.ValidMethods(j.Guarantees); err != nil {
		fault("guarantees: %w", err)
	}
	share := j.Roles.Holdout
	switch holdout := (certify.Delta{Methods: j.Guarantees}).Uses(certify.RoleHoldout); {
	case holdout && share == 0:
		j.Roles.Holdout = defaultHoldout
	case holdout && !(0 < share && share <= 0.9):
		fault("roles.holdout: %v is no share of the rows above 0 and at most 0.9", share)
	case !holdout && share != 0:
		fault("roles.holdout: hold-out rows are for the method %s, which guarantees does not name", certify.MethodHoldout)
	}
	return j
}

// ForRows returns the job as it is for a sample of n rows: with the methods of its
// certificate and the step of its grid, where it names none. From 2,000 rows on the methods
// are PAC-Bayes and a hold-out of a tenth of the rows, below PAC-Bayes alone; also where
// roles go by position, so that a row's role is known when it arrives. From 30,000 rows on
// the step is 0.05, below 0.25. What was declared stays its identity.
func (j Job) ForRows(n int64) Job {
	if len(j.Guarantees) > 0 && j.Grid.Step != 0 {
		return j
	}
	if j.declaration == nil {
		declared := j
		j.declaration = &declared
	}
	j.Grid = j.Grid.forRows(n)
	if len(j.Guarantees) > 0 {
		return j
	}
	j.Guarantees = both()
	if n < holdoutFromRows || j.Roles.By == RolesByPosition {
		j.Guarantees = j.Guarantees[:1]
		return j
	}
	j.Roles.Holdout = defaultHoldout
	return j
}
