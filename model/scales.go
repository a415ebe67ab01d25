package model

import "math"

// Scales say which inputs share a lengthscale. A feature may have several inputs, which always share one.
type Scales struct {
	ARD    bool  // each feature has its own lengthscale; false: all share one
	Widths []int // number of inputs of each feature; nil means one each
}

// features returns the number of features of d inputs.
func (s Scales) features(d int) int {
	if s.Widths == nil {
		return d
	}
	return len(s.Widths)
}

// lengthscales returns the number of different lengthscales of d inputs.
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

// fit reports whether the features have d inputs in all, and each at least one.
func (s Scales) fit(d int) bool {
	n := 0
	for _, width := range s.Widths {
		if n += width; width < 1 {
			return false
		}
	}
	return s.Widths == nil || n == d
}

// expandScales sets invScale to the reciprocal lengthscale of each input: input j has that of theta[thetaOf[j]].
func expandScales(theta []float64, thetaOf []int, invScale []float64) {
	for j, i := range thetaOf {
		invScale[j] = math.Exp(-theta[i])
	}
}
