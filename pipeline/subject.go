package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/pacsgp/pacsgp/certify"
)

// Incomparable says why two certificates speak of different things; "": they can be compared,
// and their models can replace each other.
func Incomparable(a, b certify.Certificate, who Judge) string {
	x, y := who.Of(a), who.Of(b)
	switch {
	case x.Loss.Target != y.Loss.Target:
		return fmt.Sprintf("the targets are %q and %q", x.Loss.Target, y.Loss.Target)
	case !reflect.DeepEqual(x.Loss, y.Loss):
		return "loss or tolerance differ"
	case !reflect.DeepEqual(a.RowRules, b.RowRules):
		return "the rows that they speak of satisfy different rules"
	default:
		return ""
	}
}

// Subject is a word of sixteen digits for the subject of a model's predictions: models that can
// replace each other have the same.
func Subject(c certify.Certificate) (string, error) {
	text, err := json.Marshal([]any{JudgeMean.Of(c).Loss, c.RowRules})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16], nil
}

// CarriedID is the id that predictions carry: their certificate's, followed by the word conditional
// if only its maker's word guarantees something about the mean of Q; "" if nothing.
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
