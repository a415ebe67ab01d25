package pipeline

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
)

// Incomparable says why two certificates cannot be compared; "": they can, and their models
// can replace each other.
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

// Subject is a digest of sixteen hexadecimal digits: equal for models that can replace each
// other.
func Subject(c certify.Certificate) string { return digest.OfValues(c.Loss)[:16] }

// CarriedID is the id that predictions carry, or random draws: that of their certificate, if it certifies them.
func CarriedID(c certify.Certificate, id string, of certify.Predictor) string {
	if c.About(of).Status == certify.StatusCertified {
		return id
	}
	return ""
}
