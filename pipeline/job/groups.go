package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A GroupsDecl declares groups of rows, each with a bound of its own. Its zero value declares no groups.
type GroupsDecl struct {
	Column string `json:"column"` // it need not be a feature
	// Values lists the values of the column that have a group each. Rows with other values are one more group. If it
	// is nil, the values are the frequent ones of the prior rows.
	Values []float64 `json:"values,omitempty"`
	Texts  []string  `json:"texts,omitempty"` // the groups of a column of text, which is no feature; Values are their labels
}

// Given reports whether groups are declared.
func (d GroupsDecl) Given() bool { return d.Column != "" }

// Label returns the number that represents a text in a column of units or groups: [certify.Label].
func Label(text string) float64 { return certify.Label(text) }

// Labels returns the columns that are read after the features and may be text: the columns of units, or the column
// of groups that are texts.
func (j Job) Labels() []string {
	if j.Groups.Texts != nil {
		return []string{j.Groups.Column}
	}
	return j.Unit.Columns
}

// NotAFeature returns the columns of numbers that are read after the features and before the target: the column of
// the groups if it is no feature, or that of the mean.
func (j Job) NotAFeature() []string {
	switch {
	case j.Groups.Texts == nil && j.Groups.NotAFeature(j):
		return []string{j.Groups.Column}
	case j.Mean.Given():
		return []string{j.Mean.Column}
	default:
		return nil
	}
}

// NotAFeature reports whether the column of the groups is no feature of the job.
func (d GroupsDecl) NotAFeature(j Job) bool {
	return d.Given() && (d.Texts != nil || j.Features != nil && !slices.Contains(j.Features, d.Column) || slices.Contains(j.Exclude, d.Column))
}

// withGroups returns the job with its groups sorted and [certify.MethodGroups] among its guarantees, and adds
// faults. A job need not list this method itself.
func (j Job) withGroups(faults *faultList) Job {
	applies := certify.Delta{Methods: j.Guarantees}.Applies
	if !j.Groups.Given() {
		faults.when(applies(certify.MethodGroups) || len(j.Groups.Values) > 0,
			"groups: name the column whose values make the groups")
		return j
	}
	faults.of("groups", certify.ColumnName(j.Groups.Column))
	if len(j.Groups.Texts) > 0 {
		texts := slices.Clone(j.Groups.Texts)
		slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(certify.Label(a), certify.Label(b)) })
		j.Groups.Texts, j.Groups.Values = texts, nil
		for _, text := range texts {
			faults.of("groups", certify.GroupText(text))
			j.Groups.Values = append(j.Groups.Values, certify.Label(text))
		}
	}
	if len(j.Groups.Values) > 0 {
		values := slices.Clone(j.Groups.Values)
		for i := range values {
			values[i] += 0 // no −0
		}
		slices.Sort(values)
		faults.of("groups", certify.GroupValues(values))
		j.Groups.Values = values
	}
	switch {
	case j.Groups.Column == j.Target:
		faults.add("groups: %q is the target", j.Target)
	case j.Groups.Texts != nil && slices.Contains(j.Features, j.Groups.Column):
		faults.add("groups: they are texts, and %q is a feature, which has numbers", j.Groups.Column)
	case len(j.Groups.Values) == 0 && j.Scaling == ScalingNone:
		faults.add("groups: list them, for without scaling no prior rows can show them")
	case !j.Loss.Kind.Counts():
		faults.add("groups: the rows of a group are counted as missed or not, and the loss %s does not count them", j.Loss.Kind)
	case j.Mean.Given():
		faults.add("groups: they do not go with a column of the mean")
	case j.Unit.Given():
		faults.add("groups: they do not go with unit, for their rows are counted one by one")
	}
	if len(j.Guarantees) == 0 {
		j.Guarantees = both(j.Loss.heldOut())
	}
	if !applies(certify.MethodGroups) {
		j.Guarantees = append(slices.Clone(j.Guarantees), certify.MethodGroups)
	}
	return j
}

// Grouping returns the certificate's description of the groups, or nil without groups. values are used if the job
// does not list its own.
func (j Job) Grouping(values []float64) *certify.Grouping {
	if !j.Groups.Given() {
		return nil
	}
	if j.Groups.Values != nil {
		values = j.Groups.Values
	}
	return &certify.Grouping{Column: j.Groups.Column, NotAFeature: j.Groups.NotAFeature(j), Values: slices.Clone(values), Texts: j.Groups.Texts}
}

// GroupColumn returns the index of the column of the groups in columns. It is -1 if the job has no groups, and it is
// an error if their column is missing.
func (j Job) GroupColumn(columns []string) (int, error) {
	at := slices.Index(columns, j.Groups.Column)
	if j.Groups.Given() && at < 0 {
		return at, fmt.Errorf("%w: groups: %q is no column of numbers (hint: of a column of text list the values that make groups, as in {%[2]s: [a, b]})", ErrConfig, j.Groups.Column)
	}
	return at, nil
}

// Check returns an error if text is none of the texts but has the label of one of them: two texts with the same label
// can be found in minutes.
func (d GroupsDecl) Check(text string, label float64) error {
	for _, t := range d.Texts {
		if t != text && Label(t) == label {
			return fmt.Errorf("%w: the texts %q and %q of column %q have the same label, so that their rows cannot be distinguished (hint: rename one of them, or leave it out of the job)", ErrData, t, text, d.Column)
		}
	}
	return nil
}
