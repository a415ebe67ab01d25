package loss

import (
	"fmt"
	"math"
	"math/big"
)

// share is a band whose halves are the part epsilon of the size of the raw target, |y + offset| in
// scaled units. A target of exactly 0 costs 1, but for [Loss.Least].
type share struct{ epsilon, offset float64 }

func newShare(p parameters) (Loss, error) {
	if math.IsNaN(p.offset) || math.IsInf(p.offset, 0) {
		return nil, fmt.Errorf("%w: %s loss needs a finite target offset, got %g", ErrParameter, RelativeZeroOne, p.offset)
	}
	return p.tolerant(share{p.epsilon, p.offset})
}

func (share) Kind() Kind { return RelativeZeroOne }

// at returns the band of a target.
func (l share) at(y float64) band {
	t := float64(l.epsilon * math.Abs(y+l.offset))
	return band{RelativeZeroOne, t, t}
}

func (l share) Point(y, f float64) float64 { return l.at(y).Point(y, f) }

func (l share) Least(y, f float64) float64 { return l.at(y).Least(y, f) }

func (l share) Expected(y, m, variance float64) float64 { return l.at(y).Expected(y, m, variance) }

func (l share) Gradient(y, m, variance float64) (e, dm, dv float64) {
	return l.at(y).Gradient(y, m, variance)
}

func (l share) Reference(y, m, variance *big.Float) *big.Float {
	t := add(y, number(l.offset))
	t = mul(number(l.epsilon), t.Abs(t))
	s, r := sqrt(variance), sub(m, y)
	if s.Sign() == 0 {
		return pointReference(r.Abs(r).Cmp(t) < 0, 0)
	}
	return add(bigCDF(quo(sub(neg(t), r), s)), bigCDF(quo(sub(r, t), s)))
}

// inner is at most the tolerance at a scaled target less the accuracy. The offset is rounded, as are
// the target, their sum, the product and the difference: together less than 8u(|y| + |offset|) of |y + offset|.
func (l share) inner(y, accuracy float64) float64 {
	size := math.Abs(y+l.offset) - float64(8*unitRoundoff*(math.Abs(y)+math.Abs(l.offset)))
	return float64(l.epsilon*size) - accuracy
}

func (l share) draws(r *Upper, laws Laws, room, hi []float64) {
	edges{0, l.inner}.draws(r, laws, room, hi)
}

func (l share) points(r *Upper, laws Laws, room, hi []float64) {
	edges{0, l.inner}.points(r, laws, room, hi)
}

// size is 0: inner accounts for its own rounding.
func (share) size() float64 { return 0 }
