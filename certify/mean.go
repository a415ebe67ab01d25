package certify

import "fmt"

// A Mean describes the column that is the prior's mean function. Each of its sums adds up, over some rows, the
// distance of the column from the target, in standard deviations of the target. A distance above 1 counts as 1.
type Mean struct {
	Column string  `json:"column"`
	Prior  RiskSum `json:"prior"`    // over the prior rows
	Train  RiskSum `json:"training"` // over the training rows
}

// validate checks the column against the sample and the counts. A nil m is valid if there are no outside rows.
func (m *Mean) validate(s Sample, l Counts) error {
	switch {
	case m == nil && l.Outside != 0:
		return fmt.Errorf("%d outside rows, and no column of the mean that was fitted on them", l.Outside)
	case m == nil:
		return nil
	}
	faults := faultList{m.Prior.validate(), m.Train.validate()}
	n := len(s.Columns)
	faults.when(n < 3 || s.Columns[n-2] != m.Column, "the column %q of the mean does not stand before the target in %s", m.Column, List(s.Columns))
	faults.when(m.Train.Count() != l.Training || m.Prior.Count() != l.Prior, "distances of %d prior and %d training rows, of %d and %d", m.Prior.Count(), m.Train.Count(), l.Prior, l.Training)
	return faults.err()
}

// Features returns the names of the features, in model order.
func (ev Evidence) Features() []string {
	return ev.Sample.features(ev.Mean, ev.Grouping, ev.Counts)
}

// inputs returns all columns before those of units and the target.
func (s Sample) inputs(l Counts) []string {
	return s.Columns[:max(0, len(s.Columns)-1-len(l.labels()))]
}

// features returns the columns of features: all inputs but the last if that is the column of the mean, or one
// of groups that is not a feature.
func (s Sample) features(extra *Mean, by *Grouping, l Counts) []string {
	inputs := s.inputs(l)
	if extra != nil || by != nil && by.NotAFeature {
		return inputs[:max(0, len(inputs)-1)]
	}
	return inputs
}

// inside reports whether the column of the mean may have been fitted on training rows, because the job declares
// no outside rows.
func (ev Evidence) inside() bool { return ev.Mean != nil && ev.Counts.Outside == 0 }
