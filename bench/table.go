package main

import "fmt"

// ratioCell returns the cell of a ratio, in bold if it misses the target. A ratio of 0 was not measured. A
// target of 0 means no target.
func ratioCell(ratio, target float64) string {
	return boldIf(ratio != 0 && ratio < target, number(ratio, "%.2f"))
}

// boldIf returns a cell, in bold if its target is missed.
func boldIf(missed bool, cell string) string {
	if missed {
		return "**" + cell + "**"
	}
	return cell
}

// number formats a measurement; 0 means that it was not measured.
func number(v float64, format string) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// over returns a/b, or 0 if one of them was not measured.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
