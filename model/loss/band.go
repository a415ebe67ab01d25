package loss

import (
	"fmt"
	"math"
)

// band is 1 where v−y leaves the open interval (−below, above). The zero-one
// loss is the case below = above = ε.
//
//	E = Φ((y−below−m)/s) + Φ((m−y−above)/s)
//
// For s → 0 that tends to the loss at m, except on the boundary.
type band struct {
	kind         Kind
	below, above float64
}

func newBand(p parameters) (Loss, error) {
	if !positive(p.below) || !positive(p.above) {
		return nil, fmt.Errorf("%w: band loss needs below > 0 and above > 0, got %g and %g", ErrParameter, p.below, p.above)
	}
	return band{Band, p.below, p.above}, nil
}

func (l band) Kind() Kind { return l.kind }

func (l band) Point(y, f float64) float64 {
	r := f - y
	if math.IsNaN(r) {
		return math.NaN()
	}
	if -l.below < r && r < l.above {
		return 0
	}
	return 1
}

func (l band) Least(y, f float64) float64 {
	if r := f - y; -l.below*(1+boundaryRoom) <= r && r <= l.above*(1+boundaryRoom) {
		return 0
	}
	return 1
}

func (l band) Expected(y, m, variance float64) float64 {
	v, clamped := clampVariance(variance)
	// Below MinVariance the expectation grows with s for a mean inside the
	// band, so that the raised variance errs upwards; outside it falls with
	// s, and the result that errs upwards is 1.
	if clamped && l.Point(y, m) == 1 {
		return 1
	}
	s := math.Sqrt(v)
	return unit(normCDF((y-l.below-m)/s) + normCDF((m-y-l.above)/s))
}

func (l band) Gradient(y, m, variance float64) (e, dm, dv float64) {
	v, _ := clampVariance(variance)
	s := math.Sqrt(v)
	a := (y - l.below - m) / s
	c := (y + l.above - m) / s
	e = unit(normCDF(a) + normCDF(-c))
	dm = (normPDF(c) - normPDF(a)) / s
	dv = (normPDFTimes(c) - normPDFTimes(a)) / (2 * v)
	return e, dm, dv
}
