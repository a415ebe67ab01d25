package pipeline

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/words"
)

// Incomparable returns why two certificates cannot be compared, or "" if they can and their models can replace each other.
func Incomparable(a, b certify.Certificate) string {
	if a.Loss.Target != b.Loss.Target {
		return fmt.Sprintf("the targets are %q and %q", a.Loss.Target, b.Loss.Target)
	}
	return words.If(a.Loss != b.Loss, "loss or tolerance differ")
}

// Subject returns a digest of 16 hexadecimal digits that is equal for models that can replace each other.
func Subject(c certify.Certificate) string { return digest.OfValues(c.Loss)[:16] }

// OffBy returns the tolerance of a bound, as " (off by more than 5 minutes)", if claims hold at every tolerance, so that
// their words name intervals; otherwise "".
func OffBy(l certify.TargetLoss) string {
	return words.If(l.Tolerance == certify.AnyTolerance, " (off by more than "+words.Amount(l.Epsilon, l.Unit)+")")
}

// Worth returns a number by which claims about a predictor are compared, less being better, and its words: the bound, or,
// under [certify.AnyTolerance], half the width of the interval for [certify.CurveShare].
func Worth(c certify.Certificate, of certify.Predictor) (float64, string) {
	g := c.About(of)
	if g.Curve != nil && c.Loss.Tolerance == certify.AnyTolerance {
		within, ok := g.Curve.Within(certify.CurveShare)
		if !ok {
			within = math.Inf(1)
		}
		return within, "± " + words.Amount(within, c.Loss.Unit)
	}
	return g.Bound, words.Bound(c.Loss.Shares(), g.Bound) + OffBy(c.Loss)
}

// CarriedID returns the certificate id that predictions, or random draws, carry: id if the certificate certifies them,
// otherwise "".
func CarriedID(c certify.Certificate, id string, predictor certify.Predictor) string {
	return words.If(c.About(predictor).Status == certify.StatusCertified, id)
}
