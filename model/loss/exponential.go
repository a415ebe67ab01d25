package loss

import "math"

// exponential is 1 − exp(−((v−y)/ε)²).
//
//	E = 1 − G,  G = ε/√k · exp(−g²/k),  k = 2s² + ε²
type exponential struct{ epsilon float64 }

func (exponential) Kind() Kind { return Exponential }

func (l exponential) Point(y, f float64) float64 {
	r := (f - y) / l.epsilon
	return -math.Expm1(-r * r)
}

func (l exponential) Least(y, f float64) float64 {
	r := (f - y) / l.epsilon
	return max(0, 1-expNegative(float64(r*r))-leastRoom)
}

// Expected computes 1 − G as −expm1(ln G), which keeps small losses accurate.
func (l exponential) Expected(y, m, variance float64) float64 {
	v, _ := clampVariance(variance)
	g := m - y
	e2 := l.epsilon * l.epsilon
	return unit(-math.Expm1(-g*g/(2*v+e2) - 0.5*math.Log1p(2*v/e2)))
}

// Gradient uses dE/dm = (2g/k)G and dE/ds² = (1−2g²/k)G/k.
func (l exponential) Gradient(y, m, variance float64) (e, dm, dv float64) {
	v, _ := clampVariance(variance)
	g := m - y
	k := 2*v + l.epsilon*l.epsilon
	gain := l.epsilon / math.Sqrt(k) * math.Exp(-g*g/k)
	dm = 2 * g / k * gain
	dv = (1 - 2*g*g/k) * gain / k
	return l.Expected(y, m, variance), dm, dv
}
