package main

import (
	"fmt"
	"strings"
)

// A table is one of Markdown, with what it finds about targets.
type table struct {
	text   strings.Builder
	missed []string
}

func newTable(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.row(strings.Split(strings.Repeat("---,", len(columns)-1)+"---", ",")...)
	return t
}

func (t *table) row(cells ...string) { fmt.Fprintf(&t.text, "| %s |\n", strings.Join(cells, " | ")) }

// ratio is the cell of a ratio to a target; a missed one is set in bold and
// listed. A ratio of 0 was not measured. A target of 0 is none.
func (t *table) ratio(what string, ratio, target float64) string {
	cell := number(ratio, "%.2f")
	if ratio != 0 && ratio < target {
		t.missed = append(t.missed, fmt.Sprintf("%s: %.2f of %g", what, ratio, target))
		cell = "**" + cell + "**"
	}
	return cell
}

// String is the table, followed by the missed targets.
func (t *table) String() string {
	if len(t.missed) == 0 {
		return t.text.String()
	}
	return t.text.String() + "\n**Missed** (in bold): " + strings.Join(t.missed, "; ") + ".\n"
}

// number formats a measurement; 0 was not measured.
func number(v float64, format string) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// over is a/b, or 0 if one was not measured.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// least is the smallest value that was measured.
func least(values ...float64) float64 {
	best := 0.0
	for _, v := range values {
		if v != 0 && (best == 0 || v < best) {
			best = v
		}
	}
	return best
}
