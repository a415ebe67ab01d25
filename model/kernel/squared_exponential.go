package kernel

import (
	"errors"
	"fmt"
	"math"
)

// SquaredExponential is the covariance function
//
//	k(x, x') = σ² exp(−½ Σ_j ((x_j − x'_j)/l_j)²)
//
// in scaled units.
type SquaredExponential struct {
	Lengthscales []float64 // [d], each > 0; an isotropic kernel repeats one value
	Variance     float64   // σ² > 0
}

// ErrParameter says that a kernel has a parameter that is not positive and
// finite.
var ErrParameter = errors.New("kernel: parameter out of range")

// Dim returns the number d of inputs.
func (k SquaredExponential) Dim() int { return len(k.Lengthscales) }

// Validate returns an error unless all parameters are positive and finite and
// have finite reciprocals.
func (k SquaredExponential) Validate() error {
	usable := func(x float64) bool {
		return x > 0 && !math.IsInf(x, 1) && !math.IsInf(1/x, 1)
	}
	if len(k.Lengthscales) == 0 {
		return fmt.Errorf("%w: no lengthscales", ErrParameter)
	}
	for j, l := range k.Lengthscales {
		if !usable(l) {
			return fmt.Errorf("%w: lengthscale %d is %g", ErrParameter, j, l)
		}
	}
	if !usable(k.Variance) {
		return fmt.Errorf("%w: variance is %g", ErrParameter, k.Variance)
	}
	return nil
}

// At returns k(x, z). Its error is bounded by [SquaredExponential.ErrorBound].
func (k SquaredExponential) At(x, z []float64) float64 {
	q := 0.0
	for j, l := range k.Lengthscales {
		t := (x[j] - z[j]) / l
		q += t * t
	}
	return k.Variance * math.Exp(-0.5*q)
}

// ErrorBound returns a bound on |At(x, z) − k(x, z)| that holds for all x, z
// for which no sum of squares overflows: with u = 2⁻⁵³,
//
//	σ² u ((d+7)/e + 6)
//
// Proof: a difference, its quotient and its square carry (1+u)⁵ together at
// most, the sum of d such terms (1+u)^(d−1) more (fused or not), so the sum q
// has relative error at most (d+5)u to first order; the spare 2u take in all
// higher orders while d < 10⁶. That moves exp(−q/2) by at most
// max_t t·exp(−t)·(d+7)u = (d+7)u/e. math.Exp errs by less than one unit in
// the last place (2u), the product with σ² by u, underflow by less than u;
// two more u are slack.
func (k SquaredExponential) ErrorBound() float64 {
	const u = 0x1p-53
	d := float64(len(k.Lengthscales))
	return k.Variance * u * ((d+7)/2.7 + 6) // 2.7 < e
}
