package loss

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Kind names a loss.
type Kind string

// The losses, by the names that they have in configurations and certificates.
const (
	ZeroOne         Kind = "zero-one"          // 1 if |v−y| ≥ ε, else 0
	Band            Kind = "band"              // 0 if −below < v−y < above, else 1
	RelativeZeroOne Kind = "relative-zero-one" // 1 if |v−y| ≥ ε|y|, with y in raw units, else 0
	Squared         Kind = "squared"           // min(((v−y)/ε)², 1)
	Exponential     Kind = "exponential"       // 1 − exp(−((v−y)/ε)²)
	Relative        Kind = "relative"          // min(|v−y|/|y|, 1), with y in raw units; 1 if y = 0
)

// MinVariance is the smallest variance of a prediction, in scaled units: losses raise smaller
// ones, zero and negative ones (rounding) included, to it.
const MinVariance = 1e-14

// A Loss is a bounded loss, averaged over Gaussian predictions. NaN in any
// argument gives NaN out, so that no row without a number passes as a good one.
type Loss interface {
	// Kind returns the loss's name.
	Kind() Kind
	// Expected returns E l(y, v) for v ~ N(m, variance), in [0, 1]. The
	// variance is raised to MinVariance; where that was necessary and l is
	// discontinuous, a mean on or outside the boundary costs 1.
	Expected(y, m, variance float64) float64
	// Gradient returns the expectation and its derivatives with respect to m
	// and to the variance. It is for training: the derivatives know nothing
	// of the rule for the boundary.
	Gradient(y, m, variance float64) (e, dm, dv float64)
	// Point returns l(y, f). The boundary of a discontinuous loss costs 1.
	Point(y, f float64) float64
	// Least returns a lower bound on l(y, f), with the same bits on every platform: on the
	// boundary of a discontinuous loss, and a part of 10⁻⁹ beyond it, 0.
	Least(y, f float64) float64

	upper
}

// ErrParameter says that a loss was asked for with an impossible tolerance.
var ErrParameter = errors.New("loss: parameter out of range")

// Kinds returns all of them.
func Kinds() []Kind {
	return []Kind{ZeroOne, Band, RelativeZeroOne, Squared, Exponential, Relative}
}

// New returns the named loss. All parameters are in scaled units (raw units
// divided by the target's scale): epsilon > 0 for zero-one, squared and
// exponential; below, above > 0 for band; offset = centre/scale of the target
// for the relative losses, whose |y| is that of the raw target. The epsilon of
// relative-zero-one is a share. Parameters that the loss does not have are ignored.
func New(kind Kind, epsilon, below, above, offset float64) (Loss, error) {
	positive := func(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
	switch {
	case !slices.Contains(Kinds(), kind):
		return nil, fmt.Errorf("%w: unknown loss %q (known: %q)", ErrParameter, kind, Kinds())
	case kind == Band && !(positive(below) && positive(above)):
		return nil, fmt.Errorf("%w: band loss needs below > 0 and above > 0, got %g and %g", ErrParameter, below, above)
	case (kind == Relative || kind == RelativeZeroOne) && (math.IsNaN(offset) || math.IsInf(offset, 0)):
		return nil, fmt.Errorf("%w: %s loss needs a finite target offset, got %g", ErrParameter, kind, offset)
	case kind != Band && kind != Relative && !positive(epsilon):
		return nil, fmt.Errorf("%w: %s loss needs a tolerance epsilon > 0, got %g", ErrParameter, kind, epsilon)
	}
	switch kind {
	case ZeroOne:
		return band{kind, epsilon, epsilon, 0}, nil
	case Band:
		return band{kind, below, above, 0}, nil
	case RelativeZeroOne:
		return band{kind, epsilon, epsilon, offset}, nil
	case Squared:
		return squared{epsilon}, nil
	case Exponential:
		return exponential{epsilon}, nil
	default: // Relative
		return relative{offset}, nil
	}
}

// clampVariance raises a variance to MinVariance and reports whether that was necessary. NaN
// stays NaN.
func clampVariance(v float64) (s2 float64, clamped bool) {
	if v < MinVariance {
		return MinVariance, true
	}
	return v, false
}

// unit clamps e to [0, 1]. NaN stays NaN.
func unit(e float64) float64 {
	return max(0, min(1, e)) // min and max return NaN if an argument is NaN
}

// normCDF returns Φ(x). It keeps its relative precision in the left tail, so
// upper tails are written Φ(−x), never 1−Φ(x).
func normCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// normPDF returns φ(x).
func normPDF(x float64) float64 {
	const invSqrt2Pi = 1 / (math.Sqrt2 * math.SqrtPi)
	return invSqrt2Pi * math.Exp(-0.5*x*x)
}

// normPDFTimes returns x·φ(x), which tends to 0 in both tails: written so
// that an infinite x does not give NaN.
func normPDFTimes(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return x * normPDF(x)
}

// between returns Φ(c)−Φ(a) for a ≤ c without cancellation in either tail.
func between(a, c float64) float64 {
	if a > 0 {
		return normCDF(-a) - normCDF(-c)
	}
	return normCDF(c) - normCDF(a)
}
