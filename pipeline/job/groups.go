package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A GroupsDecl declares groups of rows, each with a bound of its own. Its zero value has none.
type GroupsDecl struct {
	Column string `json:"column"` // it need not be a feature
	// Values have a group each, and all other rows are one more; nil: the frequent values of the
	// prior rows.
	Values []float64 `json:"values,omitempty"`
	Texts  []string  `json:"texts,omitempty"` // of a column of text, which give the values; it is no feature
}

// Given reports whether groups are declared.
func (d GroupsDecl) Given() bool { return d.Column != "" }

// Label is the number that stands for a text of a column that tells units or groups apart, as of
// [certify.Label].
func Label(text string) float64 { return certify.Label(text) }

// Labels are the columns behind the features that may be of text: those that tell units apart, or that
// of groups by texts.
func (j Job) Labels() []string {
	if j.Groups.Texts != nil {
		return []string{j.Groups.Column}
	}
	return j.Unit.Columns
}

// NotAFeature returns the columns of numbers that are read behind the features and before the target: the
// column of the groups if it is no feature, or that of the mean.
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

// withGroups completes the declaration and the methods. Groups need no method of their own name.
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

// Grouping is what the certificate says of the groups by these values; nil: there are none.
func (j Job) Grouping(values []float64) *certify.Grouping {
	if !j.Groups.Given() {
		return nil
	}
	if j.Groups.Values != nil {
		values = j.Groups.Values
	}
	return &certify.Grouping{Column: j.Groups.Column, NotAFeature: j.Groups.NotAFeature(j), Values: slices.Clone(values), Texts: j.Groups.Texts}
}

// GroupColumn is the position of the column of the groups among the columns of the rows; -1: there are no groups.
func (j Job) GroupColumn(columns []string) (int, error) {
	at := slices.Index(columns, j.Groups.Column)
	if j.Groups.Given() && at < 0 {
		return at, fmt.Errorf("%w: groups: %q is no column of numbers (hint: of a column of text list the values that make groups, as in {%[2]s: [a, b]})", ErrConfig, j.Groups.Column)
	}
	return at, nil
}

// ColumnTexts are the texts of the groups of a column. The column must have text, and no other text
// than these with one of their labels: two texts with one label are found in minutes.
type ColumnTexts struct {
	Column string
	Texts  []string
}

// Check returns an error for another text with the label of one of the texts.
func (c ColumnTexts) Check(text string, label float64) error {
	for _, t := range c.Texts {
		if t != text && Label(t) == label {
			return fmt.Errorf("%w: the texts %q and %q of column %q have the same label, so that their rows cannot be distinguished (hint: rename one of them, or leave it out of the job)", ErrData, t, text, c.Column)
		}
	}
	return nil
}
