package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// frequentGroup sets which values get a group if the job lists none: those of at least one in this many prior rows.
const frequentGroup = 50

// GroupValues returns the values that have a group of their own: the declared ones, or up to twenty of the most
// frequent values, each that of at least one in fifty prior rows. columns names the columns of prior.
func GroupValues(j job.Job, columns []string, prior RawRows) ([]float64, error) {
	if !j.Groups.Given() || j.Groups.Values != nil {
		return j.Groups.Values, nil
	}
	at, err := j.GroupColumn(columns)
	if err != nil {
		return nil, err
	}
	values := frequent(prior.Column(at), frequentGroup, 1, certify.MaxGroupValues)
	if values == nil {
		return nil, fmt.Errorf("%w: groups: no value of %q is that of one in %d prior rows: list the values", job.ErrData, j.Groups.Column, frequentGroup)
	}
	return values, nil
}

// Frequent reports whether each value of the groups is frequent enough among prior rows to have a group of its own.
func Frequent(by *certify.Grouping, prior int64) bool {
	return !slices.ContainsFunc(by.Prior[:min(len(by.Prior), len(by.Values))], func(n int64) bool { return frequentGroup*n < prior })
}

// frequent returns, ascending, the values of at least one in oneIn rows and of at least least rows. If there are
// more than limit, it returns the most frequent ones, and of equally frequent ones the lower.
func frequent(column []float64, oneIn, least, limit int) (values []float64) {
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
	values = values[:min(len(values), limit)]
	slices.Sort(values)
	return values
}

// StrangeGroups returns a warning for each declared value that no prior row has. Without prior rows it returns none.
func StrangeGroups(d job.GroupsDecl, columns []string, prior RawRows) (all []string) {
	for i, v := range d.Values {
		if prior.Len() == 0 || slices.Contains(prior.Column(slices.Index(columns, d.Column)), v) {
			continue
		}
		name := words.Plain(v)
		if d.Texts != nil {
			name = d.Texts[i]
		}
		all = append(all, fmt.Sprintf("groups: none of %s has %s in column %q: nothing is certified about such rows", words.Count(int64(prior.Len()), "prior row"), name, d.Column))
	}
	return all
}

// Packed returns the bits of values as a string, so that the values can be compared by ==.
func Packed(values []float64) string { return string(AppendNumbers(nil, values)) }
