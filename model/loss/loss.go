package loss

import (
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

// MinVariance is the smallest variance of a prediction, in scaled units. Losses raise smaller variances to it,
// also those that rounding has made zero or negative.
const MinVariance = 1e-14

// A Loss is a bounded loss, averaged over Gaussian predictions. All arguments are in scaled units. Expected,
// Gradient and Point return NaN for a NaN argument, so that it cannot pass for a small loss.
type Loss interface {
	// Kind returns the loss's name.
	Kind() Kind
	// Expected returns E l(y, v) for v ~ N(m, variance), in [0, 1]. A variance below MinVariance is raised to
	// it; then a mean on or outside the boundary of a discontinuous loss costs 1.
	Expected(y, m, variance float64) float64
	// Gradient returns the expectation and its derivatives by m and by the variance. It is for training: the
	// derivatives ignore the rule for the boundary.
	Gradient(y, m, variance float64) (e, dm, dv float64)
	// Point returns l(y, f). On the boundary a discontinuous loss is 1.
	Point(y, f float64) float64
	// Least returns a lower bound on l(y, f), with the same bits on every platform. A discontinuous loss is 0
	// on the boundary, and up to a part of 10⁻⁹ beyond it.
	Least(y, f float64) float64

	upper
}

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{ZeroOne, Band, RelativeZeroOne, Squared, Exponential, Relative}
}

// New returns the named loss. All parameters are in scaled units (raw units divided by the target's scale).
// Zero-one, squared and exponential have epsilon > 0; band has below > 0 and above > 0. The relative losses
// have offset = centre/scale of the target, because |y| is that of the raw target; relative-zero-one also has
// epsilon > 0, a share of |y|. Parameters that the loss does not have are ignored.
func New(kind Kind, epsilon, below, above, offset float64) (Loss, error) {
	positive := func(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
	switch {
	case !slices.Contains(Kinds(), kind):
		return nil, fmt.Errorf("loss: parameter out of range: unknown loss %q (known: %q)", kind, Kinds())
	case kind == Band && !(positive(below) && positive(above)):
		return nil, fmt.Errorf("loss: parameter out of range: band loss needs below > 0 and above > 0, got %g and %g", below, above)
	case (kind == Relative || kind == RelativeZeroOne) && (math.IsNaN(offset) || math.IsInf(offset, 0)):
		return nil, fmt.Errorf("loss: parameter out of range: %s loss needs a finite target offset, got %g", kind, offset)
	case kind != Band && kind != Relative && !positive(epsilon):
		return nil, fmt.Errorf("loss: parameter out of range: %s loss needs a tolerance epsilon > 0, got %g", kind, epsilon)
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

// clampVariance raises a variance to MinVariance and reports whether that was necessary. NaN stays NaN.
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

// normCDF returns Φ(x). It keeps its relative precision in the left tail, so upper tails must be written Φ(−x),
// never 1−Φ(x).
func normCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// normPDF returns φ(x).
func normPDF(x float64) float64 {
	const invSqrt2Pi = 1 / (math.Sqrt2 * math.SqrtPi)
	return invSqrt2Pi * math.Exp(-0.5*x*x)
}

// normPDFTimes returns x·φ(x), which tends to 0 in both tails. An infinite x gives 0 instead of NaN.
func normPDFTimes(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return x * normPDF(x)
}

// between returns Φ(c)−Φ(a) for a ≤ c without cancellation in the tails.
func between(a, c float64) float64 {
	if a > 0 {
		return normCDF(-a) - normCDF(-c)
	}
	return normCDF(c) - normCDF(a)
}
