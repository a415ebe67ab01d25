package pipeline

import (
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// The baseline is a yardstick: what the bound's formula gives for a constant
// prediction. One rule chooses the constant for every kind of scaling, on the
// reference rows, or where there are none on the start rows, so that nobody can
// choose a bad one. All arithmetic here gives the same bits on every platform:
// no operation can be fused, and no library function is used that differs.

// boundaryRoom widens the tolerance of the constant's zero-one and band losses:
// a constant on the boundary is no miss, whatever rounding makes of it. The
// baseline so errs downwards, and a guarantee is rather called vacuous.
const boundaryRoom = 1e-9

// baselineRoom is taken from the constant's other losses, for their rounding.
const baselineRoom = 0x1p-48

// constantLoss is a lower bound on the loss of predicting the constant c for the
// target y, both in raw units.
func constantLoss(spec certify.Loss, y, c float64) float64 {
	r := c - y
	miss := func(below, above float64) float64 {
		if -below*(1+boundaryRoom) <= r && r <= above*(1+boundaryRoom) {
			return 0
		}
		return 1
	}
	switch spec.Kind {
	case certify.LossZeroOne:
		return miss(spec.Epsilon, spec.Epsilon)
	case certify.LossBand:
		return miss(spec.Below, spec.Above)
	case certify.LossSquared:
		t := r / spec.Epsilon
		return min(1, float64(t*t)) * (1 - baselineRoom)
	case certify.LossExponential:
		t := r / spec.Epsilon
		return max(0, 1-expNegative(float64(t*t))-baselineRoom)
	case certify.LossRelative:
		if y == 0 {
			return 1
		}
		return min(1, math.Abs(r)/math.Abs(y)) * (1 - baselineRoom)
	}
	return 0 // no loss of a kind that [certify.Loss.Validate] knows
}

// expNegative returns exp(−x) for x ≥ 0 to within a few ulps, with the same bits
// on every platform: exp(−x) = 2⁻ᵏ exp(−r), |r| ≤ ½ ln 2, by Taylor's series,
// whose rest is below r¹⁴/14! < 2⁻⁵⁷.
func expNegative(x float64) float64 {
	const (
		high = 6.93147180369123816490e-01 // ln 2 = high + low; the product with a whole number below 2²⁰ is exact
		low  = 1.90821492927058770002e-10
	)
	if !(x < 700) {
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := float64(x-float64(k*high)) - float64(k*low)
	sum := 1.0
	for i := 13.0; i >= 1; i-- {
		sum = 1 - float64(float64(r*sum)/i)
	}
	return math.Ldexp(sum, -int(k))
}

// bestConstant returns the prediction, in raw units, that has the lowest loss
// on the given targets among 512 candidates: 256 of the sorted targets at evenly
// spaced places, and each of them plus the tolerance, which puts it on the lower
// edge of what the constant covers. Losses are added in the given order.
func bestConstant(targets []float64, spec certify.Loss) float64 {
	sorted := slices.Sorted(slices.Values(targets))
	width := max(spec.Epsilon, spec.Above)
	const places = 256
	best, least := sorted[0], math.Inf(1)
	for i := range places {
		y := sorted[i*(len(sorted)-1)/(places-1)] + 0 // no −0, which JSON readers lose
		for _, c := range []float64{y, y + width} {
			var sum float64
			for _, v := range targets {
				sum += constantLoss(spec, v, c)
			}
			if sum < least {
				best, least = c, sum
			}
		}
	}
	return best
}
