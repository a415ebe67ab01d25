package loss

import "math"

// band is 1 where v−y is outside the open interval (−below, above), else 0. The zero-one loss is the case below
// = above = ε. For RelativeZeroOne both ends are the share ε of the size of the raw target, which is |y +
// offset| in scaled units; a target of exactly 0 then costs 1, except in [Loss.Least].
//
//	E = Φ((y−below−m)/s) + Φ((m−y−above)/s)
//
// As s → 0 that tends to the loss at m, except on the boundary.
type band struct {
	kind         Kind
	below, above float64 // for RelativeZeroOne ε, twice
	offset       float64 // centre/scale of the target for RelativeZeroOne; else 0
}

func (l band) Kind() Kind { return l.kind }

// at returns below and above for a target.
func (l band) at(y float64) (below, above float64) {
	if l.kind != RelativeZeroOne {
		return l.below, l.above
	}
	t := float64(l.below * math.Abs(y+l.offset))
	return t, t
}

func (l band) Point(y, f float64) float64 {
	below, above := l.at(y)
	r := f - y
	if math.IsNaN(r) {
		return math.NaN()
	}
	if -below < r && r < above {
		return 0
	}
	return 1
}

func (l band) Least(y, f float64) float64 {
	below, above := l.at(y)
	if r := f - y; -below*(1+boundaryRoom) <= r && r <= above*(1+boundaryRoom) {
		return 0
	}
	return 1
}

func (l band) Expected(y, m, variance float64) float64 {
	v, clamped := clampVariance(variance)
	// Below MinVariance the expectation grows with s for a mean inside the band, so that the raised variance
	// errs upwards. For a mean outside it falls with s, and the result that errs upwards is 1.
	if clamped && l.Point(y, m) == 1 {
		return 1
	}
	below, above := l.at(y)
	s := math.Sqrt(v)
	return unit(normCDF((y-below-m)/s) + normCDF((m-y-above)/s))
}

func (l band) Gradient(y, m, variance float64) (e, dm, dv float64) {
	below, above := l.at(y)
	v, _ := clampVariance(variance)
	s := math.Sqrt(v)
	a := (y - below - m) / s
	c := (y + above - m) / s
	e = unit(normCDF(a) + normCDF(-c))
	dm = (normPDF(c) - normPDF(a)) / s
	dv = (normPDFTimes(c) - normPDFTimes(a)) / (2 * v)
	return e, dm, dv
}
