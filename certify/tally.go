package certify

import (
	"errors"
	"fmt"
	"math/big"
)

// A TallyKey says whose losses a tally adds up, and of which rows.
type TallyKey struct {
	Predictor Predictor
	Role      Role
}

// A Tally holds what one predictor loses on the rows of one role, in exact sums. Tallies of
// different rows merge.
type Tally struct {
	TallyKey
	Risk      RiskSum // upper bounds on the losses, one a row
	LowerRisk RiskSum // lower bounds on the same
	Unproven  int64   // rows whose loss is counted as 1, because no interval of it was proven
}

// Tallies are what a pass over rows adds up.
type Tallies map[TallyKey]*Tally

// Of returns the tally of a predictor on the rows of a role: without losses where there is
// none.
func (all Tallies) Of(predictor Predictor, role Role) Tally {
	key := TallyKey{predictor, role}
	if t := all[key]; t != nil {
		return *t
	}
	return Tally{TallyKey: key}
}

// At returns the same to add to, and makes it where there is none.
func (all Tallies) At(predictor Predictor, role Role) *Tally {
	key := TallyKey{predictor, role}
	if all[key] == nil {
		all[key] = &Tally{TallyKey: key}
	}
	return all[key]
}

// Merge adds the rows of other. What cannot be counted is an error.
func (all Tallies) Merge(other Tallies) error {
	for key, t := range other {
		sum := all.At(key.Predictor, key.Role)
		sum.Unproven += t.Unproven
		if err := errors.Join(sum.Risk.Merge(t.Risk), sum.LowerRisk.Merge(t.LowerRisk)); err != nil {
			return err
		}
	}
	return nil
}

// Clone returns tallies that share nothing with these.
func (all Tallies) Clone() Tallies {
	own := make(Tallies, len(all))
	for key, t := range all {
		own[key] = new(*t)
	}
	return own
}

// validate reports all faults of the losses on n rows.
func (t Tally) validate(n int64) error {
	faults := []error{t.Risk.validate(), t.LowerRisk.validate()}
	if n < 1 || t.Risk.Count() != n || t.LowerRisk.Count() != n {
		faults = append(faults, fmt.Errorf("losses of %d rows, and %d from below, for %d rows: each needs exactly one", t.Risk.Count(), t.LowerRisk.Count(), n))
	}
	if t.Risk.total().Cmp(t.LowerRisk.total()) < 0 {
		faults = append(faults, errors.New("the lower bounds on the losses add up to more than the upper ones"))
	}
	if t.Unproven < 0 || t.Unproven > n || t.Risk.total().Cmp(new(big.Int).Lsh(big.NewInt(max(0, t.Unproven)), 60)) < 0 {
		faults = append(faults, fmt.Errorf("%d of %d rows are counted as a loss of 1, but the sum of the losses is smaller", t.Unproven, n))
	}
	return errors.Join(faults...)
}

// of is the number of rows with a role.
func (l Ledger) of(role Role) int64 {
	switch role {
	case RoleTrain:
		return l.Train
	case RoleHoldout:
		return l.Holdout
	}
	return 0 // which is no number of rows that a tally may have
}
