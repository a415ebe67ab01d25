package job

import (
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A MeanDecl declares the mean function of the prior. The process models the target minus the mean, and predictions
// add the mean back. The zero value declares a constant: the centre of the target's scaling.
type MeanDecl struct {
	Column string `json:"column"` // holds predictions of another model; it is no feature
}

// Given reports whether the mean function is a column.
func (d MeanDecl) Given() bool { return d.Column != "" }

// Centre returns the centre of the target's scaling: 0 if a column of the mean replaces it, otherwise centre.
func (d MeanDecl) Centre(centre float64) float64 {
	if d.Given() {
		return 0
	}
	return centre
}

// checkMean adds faults of the column of the mean, and of the share of rows that it was fitted on.
func (j Job) checkMean(faults *faultList) {
	share := j.Split.Outside
	switch {
	case !j.Mean.Given() && share != 0:
		faults.add("split.outside: these rows are for fitting the column of mean, which the job does not name")
	case share != 0 && !(0.05 <= share && share <= 0.6 && share+j.Split.Holdout <= 0.9):
		faults.add("split.outside: %v is no share of the rows from 0.05 to 0.6 that makes at most 0.9 with the held-out rows", share)
	}
	if !j.Mean.Given() {
		return
	}
	faults.of("mean", certify.ColumnName(j.Mean.Column))
	faults.when(j.Mean.Column == j.Target || slices.Contains(j.Features, j.Mean.Column),
		"mean: %q is the target or a feature; name a column of predictions that is neither", j.Mean.Column)
	faults.when(j.Loss.Kind.Relative(),
		"mean: the loss %s is relative to the whole target, and the process models its difference from the column; take %s, with a tolerance in the target's units", j.Loss.Kind, certify.LossZeroOne)
}

// withInside completes the methods of a job whose column of the mean may have been fitted on training rows. Such
// rows certify nothing, so that a method of held-out rows is needed; a job may name it alone.
func (j Job) withInside(faults *faultList) Job {
	switch methods := j.Guarantees; {
	case len(methods) == 0:
		j.Guarantees = both(j.Loss.heldOut())
	case !(certify.Delta{Methods: methods}).Uses(certify.SubsetHoldout):
		faults.add("guarantees: the column of mean may have been fitted on the training rows, so that they certify nothing: name %s, or set rows apart for the column (split.outside)", certify.MethodHoldout)
	case len(methods) == 1:
		j.Guarantees = both(methods[0])
	}
	return j
}
