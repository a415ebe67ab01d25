package loss

import "math"

// squared is min(((v−y)/ε)², 1).
//
//	E = 1 − D + [(g²+s²)D + 2gs(φ(A)−φ(C)) + s²(Aφ(A)−Cφ(C))]/ε²
//
// The paper prints the wrong sign of the first Gaussian term.
type squared struct{ epsilon float64 }

func (squared) Kind() Kind { return Squared }

func (l squared) Point(y, f float64) float64 {
	r := (f - y) / l.epsilon
	return min(r*r, 1)
}

func (l squared) Least(y, f float64) float64 {
	r := (f - y) / l.epsilon
	return min(1, float64(r*r)) * (1 - leastRoom)
}

func (l squared) Expected(y, m, variance float64) float64 {
	e, _, _ := l.Gradient(y, m, variance)
	return e
}

// Gradient uses dE/dm = (2/ε²)(gD + s(φ(A)−φ(C))) and dE/ds = 2sD/ε² − (2/ε)(φ(A)+φ(C)), divided by 2s.
func (l squared) Gradient(y, m, variance float64) (e, dm, dv float64) {
	v, _ := clampVariance(variance)
	s := math.Sqrt(v)
	g := m - y
	a, c := (-l.epsilon-g)/s, (l.epsilon-g)/s
	pa, pc := normPDF(a), normPDF(c)
	d := between(a, c)
	inv := 1 / (l.epsilon * l.epsilon)
	inside := (g*g+v)*d + 2*g*s*(pa-pc) + v*(normPDFTimes(a)-normPDFTimes(c))
	e = unit(normCDF(a) + normCDF(-c) + max(0, inside)*inv)
	dm = 2 * inv * (g*d + s*(pa-pc))
	dv = d*inv - (pa+pc)/(l.epsilon*s)
	return e, dm, dv
}
