package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/pacsgp/pacsgp/certify"
)

// Incomparable says why two certificates cannot be compared; "": they can, and their models
// can replace each other.
func Incomparable(a, b certify.Certificate, who Judge) string {
	x, y := who.Of(a), who.Of(b)
	switch {
	case x.Loss.Target != y.Loss.Target:
		return fmt.Sprintf("the targets are %q and %q", x.Loss.Target, y.Loss.Target)
	case !reflect.DeepEqual(x.Loss, y.Loss):
		return "loss or tolerance differ"
	case !reflect.DeepEqual(a.RowRules, b.RowRules):
		return "their row rules differ"
	default:
		return ""
	}
}

// Subject is a digest of sixteen hexadecimal digits: equal for models that can replace each
// other.
func Subject(c certify.Certificate) (string, error) {
	text, err := json.Marshal([]any{JudgeMean.Of(c).Loss, c.RowRules})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16], nil
}

// CarriedIDOfDraws is the id that draws from Q carry: that of their certificate, if it certifies them.
func CarriedIDOfDraws(c certify.Certificate, id string) string {
	if c.About(certify.PredictorDraw).Status == certify.StatusCertified {
		return id
	}
	return ""
}

// CarriedID is the id that predictions carry: that of their certificate, followed by the word
// conditional if the guarantee for predictions rests on its maker's word; "" if there is none.
func CarriedID(c certify.Certificate, id string) string {
	switch {
	case c.About(certify.PredictorMean).Status == certify.StatusCertified:
		return id
	case len(c.Conditional()) > 0:
		return id + " " + string(certify.StatusConditional)
	default:
		return ""
	}
}
