package ingest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DidYouMean returns a question with the [Nearest] candidate, to end an error with; "" if none is near.
func DidYouMean(name string, candidates []string) string {
	if best := Nearest(name, candidates); best != "" {
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
	for _, c := range candidates {
		if best == "" && len(name) >= 3 && strings.HasPrefix(c, name) {
			best = c // eps for epsilon
		}
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
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
