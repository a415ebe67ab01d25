package certify

import (
	"errors"
	"fmt"
)

// A Mean describes the column that is the prior's mean function. Its sums are of the column's
// distances from the target, in deviations of the target, at most 1 a row.
type Mean struct {
	Column    string  `json:"column"`
	Reference RiskSum `json:"reference"` // over the reference rows
	Train     RiskSum `json:"train"`     // over the train rows
}

// validate checks the column against the sample and the ledger; nil has no fault.
func (m *Mean) validate(s Sample, l Ledger) error {
	switch {
	case m == nil && l.Outside != 0:
		return fmt.Errorf("%d outside rows, and no column of the mean that was fitted on them", l.Outside)
	case m == nil:
		return nil
	}
	faults := []error{m.Reference.validate(), m.Train.validate()}
	if n := len(s.Columns); n < 3 || s.Columns[n-2] != m.Column {
		faults = append(faults, fmt.Errorf("the column %q of the mean does not stand before the target in %q", m.Column, s.Columns))
	}
	if m.Train.Count() != l.Train || m.Reference.Count() != l.Reference {
		faults = append(faults, fmt.Errorf("distances of %d reference and %d train rows, of %d and %d", m.Reference.Count(), m.Train.Count(), l.Reference, l.Train))
	}
	return errors.Join(faults...)
}

func (ev Evidence) features() []string {
	return ev.Sample.features(ev.Mean, ev.Grouping, ev.Ledger)
}

// Features returns the names of the features, in model order.
func (c Certificate) Features() []string {
	return c.Sample.features(c.Mean, c.grouping(), c.Ledger)
}

// inputs returns all columns but the target and those of units.
func (s Sample) inputs(l Ledger) []string {
	return s.Columns[:max(0, len(s.Columns)-1-len(l.labels()))]
}

// features are the columns before those that stand behind the features.
func (s Sample) features(beside *Mean, by *Grouping, l Ledger) []string {
	inputs := s.inputs(l)
	if beside != nil {
		return inputs[:max(0, len(inputs)-1)]
	}
	if by != nil && by.Beside {
		return inputs[:max(0, len(inputs)-1)]
	}
	return inputs
}

// inside reports whether the column of the mean may have been fitted on train rows.
func (c Certificate) inside() bool { return c.Mean != nil && c.Ledger.Outside == 0 }

// meanFixed returns the assumption about the column.
func (l Ledger) meanFixed() Assumption {
	words := "The column is declared to be fitted on no hold-out row. It may have been fitted on train rows, so that they certify nothing."
	if l.Outside > 0 {
		words = fmt.Sprintf("The column is declared to be fitted on outside rows alone, %d of %s, which are used for nothing here.", l.Outside, Count(l.Rows, "row"))
	}
	return Assumption{Status: AssumptionAssumed, Diagnostic: words}
}

// fixed returns the condition that the column adds to each guarantee; "" without a column.
func (m *Mean) fixed() string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("the column %s is a function of the features that was fixed without these rows", quoted(m.Column))
}

// leastCompared is the least number of reference rows for which a column is compared between roles.
const leastCompared = 50

// fitted reports whether a column that is declared to be fitted on outside rows alone is nearer to
// the target on train rows than on reference rows by a quarter, which independent rows hardly show.
func (c Certificate) fitted() bool {
	m := c.Mean
	return m != nil && !c.inside() && m.Reference.Count() >= leastCompared && m.Train.Upper() < 0.75*m.Reference.Upper()
}
