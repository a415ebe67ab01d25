package pipeline

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

// Noticed are remarks about a job that need no rows.
func (j Job) Noticed() (all []string) {
	if j.Delta > 0.5 {
		all = append(all, fmt.Sprintf("delta is %v: a certificate that fails more often than it holds is worth nothing; 0.05 or less is usual", j.Delta))
	}
	return all
}

// leastNoticed is the least number of reference rows that show an identifier: independent rows have this many
// different values in order with a probability of about 10⁻¹⁸.
const leastNoticed = 20

// noticed are remarks about the values of used columns on the reference rows, which are in order.
func (s *Survey) noticed() (all []string) {
	if s.reference.n < leastNoticed {
		return nil
	}
	rows := fmt.Sprintf("on all %d reference rows", s.reference.n)
	for _, i := range s.Used[:len(s.Features)] {
		name, column := s.Columns[i], s.reference.column(i)
		if how := identifies(name, column, s.Roles.Rows); how != "" {
			all = append(all, fmt.Sprintf("column %q looks like an identifier: its values are whole numbers, all different %s, and %s; fresh rows have others, so leave it out (exclude), unless it is a quantity", name, rows, how))
		}
	}
	y := s.reference.column(len(s.Columns) - 1)
	low, high := slices.Min(y), slices.Max(y)
	if !slices.ContainsFunc(y, func(v float64) bool { return v != low && v != high }) {
		all = append(all, fmt.Sprintf("the target %q has two values %s, %v and %v: predictions are numbers between classes, and with a tolerance of half the difference or more one constant is never off by more", s.Target.Name, rows, low, high))
	}
	return all
}

// idName is the name of a column of identifiers.
var idName = regexp.MustCompile(`^(?i:id|uuid|guid|row_?(id|number|num|no))$|(?i:[_. -]id)$|[a-z]I[dD]$`)

// identifies says why a column of a sample of n rows looks like an identifier; "": it does not.
func identifies(name string, column []float64, n int64) string {
	sorted := slices.Sorted(slices.Values(column))
	if len(slices.Compact(slices.Clone(sorted))) < len(column) || slices.ContainsFunc(column, func(v float64) bool { return v != math.Trunc(v) }) {
		return ""
	}
	span := sorted[len(sorted)-1] - sorted[0]
	switch {
	case idName.MatchString(name):
		return "so its name says"
	case slices.IsSorted(column) && span <= 2*float64(n):
		return "they count the rows"
	}
	return ""
}
