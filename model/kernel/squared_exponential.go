package kernel

import (
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
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

// At returns k(x, z), as [SquaredExponential.Row] computes it.
func (k SquaredExponential) At(x, z []float64) float64 {
	var one [1]float64
	k.Row(one[:], x, z)
	return one[0]
}

// Row sets dst [n] to k(x, z_j) for the rows z_j of z [n×d], from direct differences.
// Each error is bounded by [SquaredExponential.ErrorBound]; the bits are the same on
// every machine.
func (k SquaredExponential) Row(dst, x, z []float64) {
	d := len(k.Lengthscales)
	for j := range dst {
		q := 0.0
		for i, v := range z[j*d : (j+1)*d] {
			t := (x[i] - v) / k.Lengthscales[i]
			q += float64(t * t)
		}
		dst[j] = -0.5 * q //nolint:gosec // j is an index of dst
	}
	linalg.Exp(dst, dst)
	for j := range dst {
		dst[j] *= k.Variance
	}
}

// ErrorBound returns a bound on |Row's value − k(x, z)| that holds for all x, z
// for which no sum of squares overflows: with u = 2⁻⁵³,
//
//	σ² u ((d+7)/e + 6)
//
// Proof: a difference, its quotient and its square carry (1+u)⁵ together at
// most, the sum of d such terms (1+u)^(d−1) more (fused or not), so the sum q
// has relative error at most (d+5)u to first order; the spare 2u take in all
// higher orders while d < 10⁶. That moves exp(−q/2) by at most
// max_t t·exp(−t)·(d+7)u = (d+7)u/e. linalg.Exp errs by less than 1.1 units in
// the last place (2.2u), the product with σ² by u, underflow by less than u;
// the rest is slack.
func (k SquaredExponential) ErrorBound() float64 {
	const u = 0x1p-53
	d := float64(len(k.Lengthscales))
	return k.Variance * u * ((d+7)/2.7 + 6) // 2.7 < e
}
