package loss

import "math"

// relative is min(|v−y|/T, 1) with T = |y + offset|, the size of the raw target in scaled units. A target of
// exactly 0 costs 1. With H = (y−m)/s, and A, C for ε = T,
//
//	E = 1 − D + [g(Φ(C)−2Φ(H)+Φ(A)) + s(2φ(H)−φ(A)−φ(C))]/T
type relative struct{ offset float64 }

func (relative) Kind() Kind { return Relative }

func (l relative) Point(y, f float64) float64 {
	t := math.Abs(y + l.offset)
	if t == 0 && !math.IsNaN(f) {
		return 1
	}
	return min(math.Abs(f-y)/t, 1)
}

func (l relative) Least(y, f float64) float64 {
	t := math.Abs(y + l.offset)
	if t == 0 {
		return 1
	}
	return min(1, math.Abs(f-y)/t) * (1 - leastRoom)
}

func (l relative) Expected(y, m, variance float64) float64 {
	e, _, _ := l.Gradient(y, m, variance)
	return e
}

// Gradient uses, for the loss |v−y| cut at T,
//
//	dE/dm  = (Φ(C)−2Φ(H)+Φ(A))/T
//	dE/ds² = (2φ(H)−φ(A)−φ(C))/(2sT)
//
// The cut adds no term, because the loss is continuous there.
func (l relative) Gradient(y, m, variance float64) (e, dm, dv float64) {
	t := math.Abs(y + l.offset)
	if t == 0 && !math.IsNaN(m) && !math.IsNaN(variance) {
		return 1, 0, 0
	}
	v, _ := clampVariance(variance)
	s := math.Sqrt(v)
	g := m - y
	a, h, c := (-t-g)/s, -g/s, (t-g)/s
	slope := between(h, c) - between(a, h)
	curve := 2*normPDF(h) - normPDF(a) - normPDF(c)
	inside := g*slope + s*curve // E |v−y| restricted to |v−y| < T
	e = unit(normCDF(a) + normCDF(-c) + max(0, inside)/t)
	return e, slope / t, curve / (2 * s * t)
}
