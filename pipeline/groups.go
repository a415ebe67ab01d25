package pipeline

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// A GroupsDecl declares groups of rows, each with a bound of its own. Its zero value has none.
type GroupsDecl struct {
	Column string `json:"column"` // it need not be a feature
	// Values have a group each, and all other rows are one more; nil: the frequent values of the
	// reference rows.
	Values []float64 `json:"values,omitempty"`
	Texts  []string  `json:"texts,omitempty"` // of a column of text, which give the values; it is no feature
}

// given reports whether groups are declared.
func (d GroupsDecl) given() bool { return d.Column != "" }

// frequentGroup is the least number of reference rows, as one in so many, of a value that gets a group
// where the job lists none.
const frequentGroup = 50

// Label is the number that stands for a text of a column that tells units or groups apart, as of
// [certify.Label].
func Label(text string) float64 { return certify.Label(text) }

// labels are the columns behind the features that may be of text: those that tell units apart, or that
// of groups by texts.
func (j Job) labels() []string {
	if j.Groups.Texts != nil {
		return []string{j.Groups.Column}
	}
	return j.Unit.Columns
}

// Beside returns the columns of numbers that are read behind the features and before the target: the
// column of the groups if it is no feature, or that of the mean.
func (j Job) Beside() []string {
	if j.Groups.Texts == nil && j.Groups.beside(j) {
		return []string{j.Groups.Column}
	}
	return j.Mean.Columns()
}

// beside reports whether the column of the groups is no feature of the job.
func (d GroupsDecl) beside(j Job) bool {
	return d.given() && (d.Texts != nil || j.Features != nil && !slices.Contains(j.Features, d.Column) || slices.Contains(j.Exclude, d.Column))
}

// inputs are all columns of the job's rows but the target.
func (j Job) inputs(meta ModelMeta) []string {
	if j.Groups.beside(j) {
		return append(meta.FeatureNames(), j.Groups.Column)
	}
	return meta.Inputs()
}

// declared are the texts of the groups, if they are of texts.
func (d GroupsDecl) declared() (of ColumnTexts) {
	if len(d.Texts) > 0 {
		of = ColumnTexts{d.Column, d.Texts}
	}
	return of
}

// withGroups completes the declaration and the methods. Groups need no method of their own name.
func (j Job) withGroups(fault func(string, ...any)) Job {
	applies := certify.Delta{Methods: j.Guarantees}.Applies
	if !j.Groups.given() {
		if applies(certify.MethodGroups) || len(j.Groups.Values) > 0 {
			fault("groups: name the column whose values make the groups")
		}
		return j
	}
	if err := certify.ColumnName(j.Groups.Column); err != nil {
		fault("groups: %w", err)
	}
	if len(j.Groups.Texts) > 0 {
		texts := slices.Clone(j.Groups.Texts)
		slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(certify.Label(a), certify.Label(b)) })
		j.Groups.Texts, j.Groups.Values = texts, nil
		for _, text := range texts {
			if err := certify.GroupText(text); err != nil {
				fault("groups: %w", err)
			}
			j.Groups.Values = append(j.Groups.Values, certify.Label(text))
		}
	}
	if len(j.Groups.Values) > 0 {
		values := slices.Clone(j.Groups.Values)
		for i := range values {
			values[i] += 0 // no −0
		}
		slices.Sort(values)
		if err := certify.GroupValues(values); err != nil {
			fault("groups: %w", err)
		}
		j.Groups.Values = values
	}
	switch {
	case j.Groups.Column == j.Target:
		fault("groups: %q is the target", j.Target)
	case j.Groups.Texts != nil && slices.Contains(j.Features, j.Groups.Column):
		fault("groups: they are texts, and %q is a feature, which has numbers", j.Groups.Column)
	case len(j.Groups.Values) == 0 && j.Scaling == ScalingNone:
		fault("groups: list them, for without scaling no reference rows can show them")
	case !j.Loss.Kind.Counts():
		fault("groups: the rows of a group are counted as missed or not, and the loss %s does not count them", j.Loss.Kind)
	case j.Mean.given():
		fault("groups: they do not go with a column of the mean")
	case j.Unit.given():
		fault("groups: they do not go with unit, for their rows are counted one by one")
	}
	if len(j.Guarantees) == 0 {
		j.Guarantees = both(j.Loss.heldOut())
	}
	if !applies(certify.MethodGroups) {
		j.Guarantees = append(slices.Clone(j.Guarantees), certify.MethodGroups)
	}
	return j
}

// grouping is what the certificate says of the groups by these values; nil: there are none.
func (j Job) grouping(values []float64) *certify.Grouping {
	if !j.Groups.given() {
		return nil
	}
	if j.Groups.Values != nil {
		values = j.Groups.Values
	}
	return &certify.Grouping{Column: j.Groups.Column, Beside: j.Groups.beside(j), Values: slices.Clone(values), Texts: j.Groups.Texts}
}

// groupColumn is the place of the column of the groups among the columns of the rows; -1: there are no groups.
func (j Job) groupColumn(columns []string) (int, error) {
	at := slices.Index(columns, j.Groups.Column)
	if j.Groups.given() && at < 0 {
		return at, fmt.Errorf("%w: groups: no column %q is read as numbers (hint: of text list the values that make groups, as in {%[2]s: [a, b]})", ErrConfig, j.Groups.Column)
	}
	return at, nil
}

// groupValues are the values with a group of their own: the declared ones, or those that one in fifty
// reference rows has, the twenty most frequent of them at most. columns are those of the rows.
func (j Job) groupValues(columns []string, reference rawRows) ([]float64, error) {
	if !j.Groups.given() || j.Groups.Values != nil {
		return j.Groups.Values, nil
	}
	at, err := j.groupColumn(columns)
	if err != nil {
		return nil, err
	}
	values := frequent(reference.column(at), frequentGroup, 1, certify.MaxGroupValues)
	if values == nil {
		return nil, fmt.Errorf("%w: groups: no value of %q is that of one in %d reference rows: list the values", ErrData, j.Groups.Column, frequentGroup)
	}
	return values, nil
}

// frequent are the values that at least one row in so many has, and so many rows, ascending: of more
// than most of them the most frequent, of equally frequent ones the lower.
func frequent(column []float64, oneIn, least, most int) (values []float64) {
	counts := map[float64]int{}
	for _, v := range column {
		counts[v+0]++
	}
	for v, n := range counts {
		if oneIn*n >= len(column) && n >= least {
			values = append(values, v)
		}
	}
	slices.SortFunc(values, func(a, b float64) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	values = values[:min(len(values), most)]
	slices.Sort(values)
	return values
}

// strange says that no reference row has one of the declared values, if there are reference rows.
func (d GroupsDecl) strange(columns []string, reference rawRows) []string {
	if d.Values == nil || reference.n == 0 || slices.ContainsFunc(reference.column(slices.Index(columns, d.Column)), func(v float64) bool { return slices.Contains(d.Values, v) }) {
		return nil
	}
	return []string{fmt.Sprintf("groups: none of %s has one of them in column %q", words.Count(int64(reference.n), "reference row"), d.Column)}
}

// packed are values as a string, to compare subjects of passes.
func packed(values []float64) string {
	var text []byte
	for _, v := range values {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(v))
	}
	return string(text)
}

// unpacked are the values of a string of packed.
func unpacked(text string) (values []float64) {
	for b := []byte(text); len(b) >= 8; b = b[8:] {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return values
}
