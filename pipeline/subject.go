package pipeline

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/words"
)

// Incomparable returns why two certificates cannot be compared, or "" if they can and their models can replace each other.
func Incomparable(a, b certify.Certificate) string {
	switch {
	case a.Loss.Target != b.Loss.Target:
		return fmt.Sprintf("the targets are %q and %q", a.Loss.Target, b.Loss.Target)
	case a.Loss != b.Loss:
		return "loss or tolerance differ"
	default:
		return ""
	}
}

// Subject returns a digest of 16 hexadecimal digits that is equal for models that can replace each other.
func Subject(c certify.Certificate) string { return digest.OfValues(c.Loss)[:16] }

// OffBy returns the tolerance of the bounds of c, as " (off by more than 5 minutes)", if its claims hold at every
// tolerance, so that their words name intervals; otherwise "".
func OffBy(c certify.Certificate) string {
	return map[bool]string{true: " (off by more than " + words.Amount(c.Loss.Epsilon, c.Loss.Unit) + ")"}[c.Loss.Tolerance == certify.AnyTolerance]
}

// CarriedID returns the certificate id that predictions, or random draws, carry: id if the certificate certifies them,
// otherwise "".
func CarriedID(c certify.Certificate, id string, predictor certify.Predictor) string {
	if c.About(predictor).Status == certify.StatusCertified {
		return id
	}
	return ""
}
