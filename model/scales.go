package model

import "math"

// Scales say which inputs share a lengthscale.
type Scales struct {
	ARD    bool  // a lengthscale for each feature, else one for all
	Widths []int // the number of inputs of each feature; nil: one each
}

// features is the number of features of d inputs.
func (s Scales) features(d int) int {
	if s.Widths == nil {
		return d
	}
	return len(s.Widths)
}

// lengthscales is the number of different lengthscales of d inputs.
func (s Scales) lengthscales(d int) int {
	if s.ARD {
		return s.features(d)
	}
	return 1
}

// of returns the index of the lengthscale of each of d inputs.
func (s Scales) of(d int) []int {
	of := make([]int, 0, d)
	for i := range s.features(d) {
		width := 1
		if s.Widths != nil {
			width = s.Widths[i]
		}
		for range width {
			of = append(of, min(i, s.lengthscales(d)-1))
		}
	}
	return of
}

// fit reports whether the features have d inputs, each at least one.
func (s Scales) fit(d int) bool {
	n := 0
	for _, width := range s.Widths {
		if n += width; width < 1 {
			return false
		}
	}
	return s.Widths == nil || n == d
}

// expandScales writes the reciprocal lengthscales of all inputs, of which input j has that of the
// parameter of[j].
func expandScales(theta []float64, of []int, invScale []float64) {
	for j, i := range of {
		invScale[j] = math.Exp(-theta[i])
	}
}
