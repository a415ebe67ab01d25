package model

import (
	"fmt"
	"math"
	"slices"
)

// Rows are examples in scaled units.
type Rows struct {
	X   []float64 // row-major [n×Dim]
	Y   []float64 // [n]
	Dim int
}

// Len returns the number of rows.
func (r Rows) Len() int { return len(r.Y) }

// Row returns the features of row i, sharing memory.
func (r Rows) Row(i int) []float64 { return r.X[i*r.Dim : (i+1)*r.Dim : (i+1)*r.Dim] }

// Slice returns rows [i, j), sharing memory.
func (r Rows) Slice(i, j int) Rows {
	return Rows{X: r.X[i*r.Dim : j*r.Dim], Y: r.Y[i:j], Dim: r.Dim}
}

// Validate returns an error unless the lengths agree and every value is finite.
func (r Rows) Validate() error {
	if r.Dim < 1 || len(r.X) != r.Dim*len(r.Y) {
		return fmt.Errorf("model: %d targets and %d feature values do not make rows of %d features", len(r.Y), len(r.X), r.Dim)
	}
	if i := firstNotFinite(r.X); i >= 0 {
		return fmt.Errorf("model: row %d, feature %d is %g, want a finite number", i/r.Dim, i%r.Dim, r.X[i])
	}
	if i := firstNotFinite(r.Y); i >= 0 {
		return fmt.Errorf("model: target of row %d is %g, want a finite number", i, r.Y[i])
	}
	return nil
}

// firstNotFinite returns the first index of a NaN or an infinity, or −1.
func firstNotFinite(x []float64) int {
	return slices.IndexFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
