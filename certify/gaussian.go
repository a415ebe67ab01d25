package certify

import (
	"fmt"
	"math"
)

// klSlack is the share of 1 + KL that is added to the computed KL. It covers rounding many times over
// (docs/explanation/theory.md, 8).
const klSlack = 1e-9

// MaxInducing is the largest number of inducing points that a job, a model file and the rounding bound of
// [GaussianKL] allow.
const MaxInducing = 4000

// GaussianKL returns an upper bound, in nats, on the divergence of N(mean, CCᵀ) from N(0, I) in m dimensions,
//
//	KL = ½(|mean|² + tr CCᵀ − m − ln det CCᵀ).
//
// It is the compensated sum plus 10⁻⁹(1 + KL), rounded up. factor holds C [m×m] row by row; only its lower triangle is
// read. A number that is not finite, a diagonal entry that is not positive, or a length that does not fit is an error.
func GaussianKL(mean, factor []float64, m int) (float64, error) {
	if m < 1 || m > MaxInducing || len(mean) != m || len(factor) != m*m {
		return 0, fmt.Errorf("certify: KL of %d means and %d entries of a factor in %d dimensions (1 to %d)", len(mean), len(factor), m, MaxInducing)
	}
	var squares compensated
	det, exponent := exact(1), 0 // Π C_ii = det·2^exponent
	for i, mu := range mean {
		squares.addSquare(mu)
		row := factor[i*m : i*m+i+1]
		for _, c := range row {
			squares.addSquare(c)
		}
		c := row[i]
		if !(c > 0 && c <= math.MaxFloat64) {
			return 0, fmt.Errorf("certify: factor of S: diagonal entry %d is %g, want positive and finite", i, c)
		}
		det.Mul(det, exact(c))
		exponent += det.MantExp(det)
	}
	if !(squares.sum <= math.MaxFloat64 && math.Abs(squares.rest) <= math.MaxFloat64) { // NaN or an infinity was added
		return 0, fmt.Errorf("certify: mean or factor of S (M=%d) holds NaN, Inf or a number whose square overflows", m)
	}
	logDet := ln(det.SetMantExp(det, exponent)) // ½ ln det CCᵀ
	kl := empty().Add(exact(squares.sum), exact(squares.rest))
	kl.Sub(kl, exactInt(int64(m)))
	kl.Mul(kl, exact(0.5))
	kl.Sub(kl, logDet)
	if kl.Sign() < 0 {
		kl.SetInt64(0) // KL is never negative: rounding has made it so
	}
	slack := empty().Mul(exact(klSlack), empty().Add(exact(1), kl))
	bound := upward(kl.Add(kl, slack))
	if math.IsInf(bound, 0) {
		return 0, fmt.Errorf("certify: KL of %d dimensions overflows", m)
	}
	return bound, nil
}

// compensated adds squares with about twice the precision of float64: Dot2 of Ogita, Rump and Oishi (2005). The
// fused multiply-add and the conversions give the same bits on every platform.
type compensated struct{ sum, rest float64 }

// addSquare adds x².
func (c *compensated) addSquare(x float64) {
	square := float64(x * x)
	low := math.FMA(x, x, -square) // x² = square + low
	sum := float64(c.sum + square)
	part := float64(sum - c.sum)
	lost := float64(float64(c.sum-float64(sum-part)) + float64(square-part)) // c.sum + square = sum + lost
	c.sum, c.rest = sum, float64(c.rest+float64(lost+low))
}
