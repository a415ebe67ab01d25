package certify

import (
	"errors"
	"fmt"
	"math"
)

// A LossKind names a loss. f is the value predicted for a row and y its target.
type LossKind string

// The losses.
const (
	LossZeroOne     LossKind = "zero-one"    // 1 if |f−y| > Epsilon, else 0
	LossBand        LossKind = "band"        // 0 if −Below ≤ f−y ≤ Above, else 1
	LossSquared     LossKind = "squared"     // min(((f−y)/Epsilon)², 1)
	LossExponential LossKind = "exponential" // 1 − exp(−((f−y)/Epsilon)²)
	LossRelative    LossKind = "relative"    // min(|f−y|/|y|, 1)
)

// LossKinds returns all of them.
func LossKinds() []LossKind {
	return []LossKind{LossZeroOne, LossBand, LossSquared, LossExponential, LossRelative}
}

// Counts reports whether the loss is 0 or 1 for each row, so that its expectation
// is a probability.
func (k LossKind) Counts() bool {
	switch k {
	case LossZeroOne, LossBand:
		return true
	case LossSquared, LossExponential, LossRelative:
		return false
	}
	panic(unknownLoss(k))
}

// unknownLoss is what nobody gets past [Loss.Validate] with.
func unknownLoss(k LossKind) error {
	return fmt.Errorf("loss %q is unknown, want one of %q", k, LossKinds())
}

// A Loss is a loss with its tolerances, in raw units of the target.
type Loss struct {
	Kind    LossKind `json:"kind"`
	Epsilon float64  `json:"epsilon,omitempty"` // zero-one, squared, exponential: > 0
	Below   float64  `json:"below,omitempty"`   // band: > 0
	Above   float64  `json:"above,omitempty"`   // band: > 0
}

// Validate reports what is wrong with the tolerances, NaN included.
func (l Loss) Validate() error {
	positive := func(x float64) bool { return 0 < x && x <= math.MaxFloat64 }
	switch l.Kind {
	case LossZeroOne, LossSquared, LossExponential:
		if !(positive(l.Epsilon) && l.Below == 0 && l.Above == 0) {
			return fmt.Errorf("loss %q with epsilon %g, below %g, above %g: it takes one tolerance epsilon > 0, in units of the target", l.Kind, l.Epsilon, l.Below, l.Above)
		}
	case LossBand:
		if !(positive(l.Below) && positive(l.Above) && positive(l.Below+l.Above) && l.Epsilon == 0) {
			return fmt.Errorf("loss %q with epsilon %g, below %g, above %g: it takes below > 0 and above > 0, in units of the target", l.Kind, l.Epsilon, l.Below, l.Above)
		}
	case LossRelative:
		if !(l.Epsilon == 0 && l.Below == 0 && l.Above == 0) {
			return fmt.Errorf("loss %q takes no tolerance", l.Kind)
		}
	default:
		return unknownLoss(l.Kind)
	}
	return nil
}

// A TargetLoss is the loss that is certified of predictions of a target.
type TargetLoss struct {
	Loss
	Target string `json:"target"` // the column's name
}

// Validate reports all faults of the declaration.
func (l TargetLoss) Validate() error { return errors.Join(ColumnName(l.Target), l.Loss.Validate()) }
