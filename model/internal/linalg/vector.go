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

// Moments writes, for each row x of m, x·y, x·x and Σ x to dot, square and sum [m.Rows], with the same bits as
// [Dot] and [Sum]. It reads the rows once. y has m.Cols elements.
func Moments(m Mat, y, dot, square, sum []float64) {
	set := current.Load()
	y = y[:m.Cols]
	n := m.Cols &^ (lanes - 1)
	var s [3]float64
	for i := range m.Rows {
		x := m.Row(i)
		s = [3]float64{}
		if n > 0 {
			set.moments(x[:n], y, &s)
		}
		for j := n; j < len(x); j++ {
			s[0], s[1], s[2] = math.FMA(x[j], y[j], s[0]), math.FMA(x[j], x[j], s[1]), s[2]+x[j]
		}
		dot[i], square[i], sum[i] = s[0], s[1], s[2]
	}
}
