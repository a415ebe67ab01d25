package main

import "fmt"

// ratioCell is the cell of a ratio to a target; a missed one is set in bold. A ratio of 0 was not measured. A target
// of 0 is none.
func ratioCell(ratio, target float64) string {
	return boldIf(ratio != 0 && ratio < target, number(ratio, "%.2f"))
}

// boldIf sets a cell in bold where its target is missed.
func boldIf(missed bool, cell string) string {
	if missed {
		return "**" + cell + "**"
	}
	return cell
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
