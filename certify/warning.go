package certify

import "slices"

// A WarningCode names a warning.
type WarningCode string

// The codes.
const (
	WarnOtherJobs  WarningCode = "other-jobs"  // Count other jobs were tried on these rows
	WarnDuplicates WarningCode = "duplicates"  // Count of Of rows equal an earlier row
	WarnRejected   WarningCode = "rejected"    // Count of Of rows break a row rule
	WarnMeanFitted WarningCode = "mean-fitted" // the column of the mean is nearer to the target on training rows than on prior rows, by the share Value
	WarnDependence WarningCode = "dependence"  // targets Count rows apart have the correlation Value
	WarnLargeUnit  WarningCode = "large-unit"  // one unit has Count of Of rows
)

// A Warning gives a reason why a claim that follows from the evidence may not hold. What Count, Of and Value
// mean depends on the code; those that it does not use are 0.
type Warning struct {
	Code  WarningCode `json:"code"`
	Count int64       `json:"count,omitempty"`
	Of    int64       `json:"of,omitempty"`
	Value float64     `json:"value,omitempty"`
}

// fewDuplicates is the largest share of duplicates without a warning.
const fewDuplicates = 0.01

// leastCompared is the least number of prior rows for which the column of the mean is compared between prior
// and training rows.
const leastCompared = 50

// warnings returns the reasons why claims may fail.
func (ev Evidence) warnings() []Warning {
	all := []Warning{}
	if k := ev.Publisher.Attempt.OnTheseRows; k > 1 {
		all = append(all, Warning{Code: WarnOtherJobs, Count: k - 1})
	}
	if c, of := ev.Duplicates.Rows, ev.Counts.Rows-ev.Counts.Rejected; float64(c) > fewDuplicates*float64(of) {
		all = append(all, Warning{Code: WarnDuplicates, Count: c, Of: of})
	}
	if ev.Counts.Rejected > 0 {
		all = append(all, Warning{Code: WarnRejected, Count: ev.Counts.Rejected, Of: ev.Counts.Rows})
	}
	// If the column was fitted on outside rows alone, independent rows hardly show a difference of a quarter.
	if m := ev.Mean; m != nil && !ev.inside() && m.Prior.Count() >= leastCompared && m.Train.Upper() < 0.75*m.Prior.Upper() {
		all = append(all, Warning{Code: WarnMeanFitted, Value: 1 - m.Train.Upper()/m.Prior.Upper()})
	}
	u, l := ev.Counts.Units, ev.Counts
	rows := l.Prior + l.Training + l.Holdout
	if u == nil || rows <= 2*(u.Prior+u.Train+u.Holdout) { // rows of a larger unit may depend on each other
		if lag, correlation := ev.Dependence.Strongest(); lag > 0 {
			all = append(all, Warning{Code: WarnDependence, Count: lag, Value: correlation})
		}
	}
	if u != nil && u.Largest > rows/5 {
		all = append(all, Warning{Code: WarnLargeUnit, Count: u.Largest, Of: rows})
	}
	return all
}

// Warned reports whether the certificate has a warning with this code.
func (c Certificate) Warned(code WarningCode) bool {
	return slices.ContainsFunc(c.Warnings, func(w Warning) bool { return w.Code == code })
}
