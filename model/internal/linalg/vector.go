package linalg

import "math"

// Axpy computes y += alpha·x with fused multiply-adds. y must be at least as long as x.
func Axpy(alpha float64, x, y []float64) {
	if len(x) > 0 {
		current.Load().axpy(alpha, x, y[:len(x)])
	}
}

// Dot returns Σ x[i]·y[i]. y must be at least as long as x. The order of summation depends on the length alone.
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
