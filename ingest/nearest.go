package ingest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// NoColumn returns the fault that a table lacks a column, with those that it has.
func NoColumn(t Table, name string, taken ...map[string]bool) string {
	names := columnNames(t.Columns)
	return fmt.Sprintf("%s has no column %q; it has %s%s", t.Name, name, list(names), didYouMean(name, names, taken...))
}

// didYouMean returns a question with the [Nearest] name that is no key of taken, to end an error with; "" if none is near.
func didYouMean(name string, names []string, taken ...map[string]bool) string {
	free := slices.DeleteFunc(slices.Clone(names), func(of string) bool {
		return slices.ContainsFunc(taken, func(m map[string]bool) bool { _, found := m[of]; return found })
	})
	if best := Nearest(name, free); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// Nearest returns the candidate of which a name is probably a misspelling, or "".
func Nearest(name string, candidates []string) string {
	best, least := "", 1+len(name)/3
	length := utf8.RuneCountInString(name)
	for _, c := range candidates {
		if far := utf8.RuneCountInString(c) - length; far >= least || -far >= least {
			continue // the case of most names in a wide table
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	if i := slices.IndexFunc(candidates, func(c string) bool { return strings.HasPrefix(c, name) }); best == "" && len(name) >= 3 && i >= 0 {
		best = candidates[i] // eps for epsilon
	}
	return best
}

// longName is the greatest length of a name that is compared: the time is proportional to the product of two lengths.
const longName = 200

// editDistance counts insertions, deletions, replacements and exchanges of neighbouring characters
// (optimal string alignment).
func editDistance(from, to string) int {
	a, b := []rune(from), []rune(to)
	if len(a) > longName || len(b) > longName {
		return max(len(a), len(b))
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			next[j+1] = min(row[j], row[j+1], next[j]) + 1
			if a[i] == b[j] {
				next[j+1] = row[j]
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
