package pipeline

import (
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model/loss"
)

// The baseline is a yardstick: the bound's formula for a constant prediction. One rule chooses the
// constant for every kind of scaling, so that nobody can choose a bad one: on the reference rows, or
// on the start rows if there are none. Sums of [loss.Loss.Least] have the same bits on every platform.

// constantLoss returns a function for lower bounds on the loss of predicting the constant c for the
// target y, both in raw units. The baseline errs downwards, so that a doubtful guarantee is vacuous.
// For a loss that [certify.Loss.Validate] refuses the bound is 0.
func constantLoss(spec certify.Loss) func(y, c float64) float64 {
	l, err := loss.New(loss.Kind(spec.Kind), spec.Epsilon, spec.Below, spec.Above, 0)
	if err != nil {
		return func(float64, float64) float64 { return 0 }
	}
	return l.Least
}

// bestConstant returns the prediction, in raw units, that has the lowest loss
// on the given targets among 512 candidates: 256 of the sorted targets at evenly
// spaced places, and each of them plus its tolerance, which puts it on the lower
// edge of what the constant covers. Losses are added in the given order.
func bestConstant(targets []float64, spec certify.Loss) float64 {
	sorted := slices.Sorted(slices.Values(targets))
	width, loses := max(spec.Epsilon, spec.Above), constantLoss(spec)
	const places = 256
	best, least := sorted[0], math.Inf(1)
	for i := range places {
		y := sorted[i*(len(sorted)-1)/(places-1)] + 0 // no −0, which JSON readers lose
		if spec.Kind.Tolerances() == certify.ShareTolerance {
			width = float64(spec.Epsilon * math.Abs(y))
		}
		for _, c := range []float64{y, y + width} {
			var sum float64
			for _, v := range targets {
				sum += loses(v, c)
			}
			if sum < least {
				best, least = c, sum
			}
		}
	}
	return best
}
