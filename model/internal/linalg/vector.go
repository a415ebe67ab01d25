package linalg

import "math"

// lanes is how many partial sums Dot and Sum form: element i goes to sum i mod lanes.
const lanes = 16

// Axpy computes y += alpha·x, fused. y is at least as long as x.
func Axpy(alpha float64, x, y []float64) {
	if len(x) > 0 {
		current.Load().axpy(alpha, x, y[:len(x)])
	}
}

// Dot returns Σ x[i]·y[i]. y is at least as long as x. The order of summation depends
// on the length alone.
func Dot(x, y []float64) float64 {
	y = y[:len(x)]
	n := len(x) &^ (lanes - 1)
	s := 0.0
	if n > 0 {
		s = current.Load().dot(x[:n], y)
	}
	for i := n; i < len(x); i++ {
		s = math.FMA(x[i], y[i], s)
	}
	return s
}

// Sum returns Σ x[i]. The order of summation depends on the length alone.
func Sum(x []float64) float64 {
	n := len(x) &^ (lanes - 1)
	s := 0.0
	if n > 0 {
		s = current.Load().sum(x[:n])
	}
	for _, v := range x[n:] {
		s += v
	}
	return s
}

func axpyPortable(alpha float64, x, y []float64) {
	for i, v := range x {
		y[i] = math.FMA(alpha, v, y[i])
	}
}

func dotPortable(x, y []float64) float64 {
	var s [lanes]float64
	for ; len(x) >= lanes && len(y) >= lanes; x, y = x[lanes:], y[lanes:] {
		for l := range lanes {
			s[l] = math.FMA(x[l], y[l], s[l])
		}
	}
	return addLanes(&s)
}

func sumPortable(x []float64) float64 {
	var s [lanes]float64
	for ; len(x) >= lanes; x = x[lanes:] {
		for l := range lanes {
			s[l] += x[l]
		}
	}
	return addLanes(&s)
}

// addLanes adds the partial sums in the order of the assembly.
func addLanes(s *[lanes]float64) float64 {
	var four [4]float64
	for l := range four {
		four[l] = (s[l] + s[l+4]) + (s[l+8] + s[l+12])
	}
	return (four[0] + four[2]) + (four[1] + four[3])
}
