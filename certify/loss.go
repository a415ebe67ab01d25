package certify

import (
	"fmt"
	"math"
)

// A LossKind names a loss. f is the value predicted for a row and y its target.
type LossKind string

// The losses.
const (
	LossZeroOne         LossKind = "zero-one"          // 1 if |f−y| > Epsilon, else 0
	LossBand            LossKind = "band"              // 0 if −Below ≤ f−y ≤ Above, else 1
	LossRelativeZeroOne LossKind = "relative-zero-one" // 1 if |f−y| > Epsilon·|y|, else 0
	LossSquared         LossKind = "squared"           // min(((f−y)/Epsilon)², 1)
	LossExponential     LossKind = "exponential"       // 1 − exp(−((f−y)/Epsilon)²)
	LossRelative        LossKind = "relative"          // min(|f−y|/|y|, 1); 1 if y = 0
)

// Tolerances says which tolerances a loss takes.
type Tolerances int

// The tolerances of losses.
const (
	NoTolerance    Tolerances = iota
	OneTolerance              // Epsilon
	ShareTolerance            // Epsilon, as a share of |y|
	TwoSided                  // Below and Above
)

// MostShare is the largest tolerance as a share of the target.
const MostShare = 1000

// A lossForm describes a kind of loss.
type lossForm struct {
	kind       LossKind
	counts     bool // the loss of each row is 0 or 1
	tolerances Tolerances
}

// lossForms describe all losses.
var lossForms = []lossForm{
	{LossZeroOne, true, OneTolerance},
	{LossBand, true, TwoSided},
	{LossRelativeZeroOne, true, ShareTolerance},
	{LossSquared, false, OneTolerance},
	{LossExponential, false, OneTolerance},
	{LossRelative, false, NoTolerance},
}

// form returns the description of the kind; a zero one for an unknown kind.
func (k LossKind) form() lossForm {
	for _, f := range lossForms {
		if f.kind == k {
			return f
		}
	}
	return lossForm{}
}

// LossKinds returns all kinds.
func LossKinds() []LossKind {
	var all []LossKind
	for _, f := range lossForms {
		all = append(all, f.kind)
	}
	return all
}

// Counts reports whether the loss is 0 or 1 for each row, so that its expectation is a probability.
func (k LossKind) Counts() bool { return k.form().counts }

// Tolerances returns which tolerances the loss takes.
func (k LossKind) Tolerances() Tolerances { return k.form().tolerances }

// Shares reports whether the loss is 0, 1 or a share of the target, so that its mean is a percentage.
func (l Loss) Shares() bool { return l.Kind.Counts() || l.Kind == LossRelative }

// Relative reports whether the loss is relative to the size of the target.
func (k LossKind) Relative() bool { return k == LossRelative || k == LossRelativeZeroOne }

// A Loss is a loss with its tolerances, in raw units of the target. Tolerances that the kind does not take are 0.
type Loss struct {
	Kind    LossKind `json:"kind"`
	Epsilon float64  `json:"epsilon,omitempty"` // > 0; for relative-zero-one a share of |y|, at most [MostShare]
	Below   float64  `json:"below,omitempty"`   // > 0, of [LossBand]
	Above   float64  `json:"above,omitempty"`   // > 0, of [LossBand]
}

// Validate reports faults of the tolerances, NaN included.
func (l Loss) Validate() error {
	positive := func(x float64) bool { return 0 < x && x <= math.MaxFloat64 }
	if l.Kind.form().kind == "" {
		return fmt.Errorf("loss %q is unknown, want one of %s", l.Kind, List(LossKinds()))
	}
	symmetric, ok, want := l.Below == 0 && l.Above == 0, false, ""
	switch l.Kind.Tolerances() {
	case OneTolerance:
		ok, want = symmetric && positive(l.Epsilon), "one tolerance epsilon > 0, in units of the target"
	case ShareTolerance:
		ok, want = symmetric && positive(l.Epsilon) && l.Epsilon <= MostShare, fmt.Sprintf("one tolerance epsilon > 0, a share of the target, at most %d", MostShare)
	case TwoSided:
		ok, want = positive(l.Below) && positive(l.Above) && positive(l.Below+l.Above) && l.Epsilon == 0, "below > 0 and above > 0, in units of the target"
	case NoTolerance:
		if !(symmetric && l.Epsilon == 0) {
			return fmt.Errorf("loss %q takes no tolerance", l.Kind)
		}
		return nil
	}
	if !ok {
		return fmt.Errorf("loss %q with epsilon %g, below %g, above %g: it takes %s", l.Kind, l.Epsilon, l.Below, l.Above, want)
	}
	return nil
}

// A TargetLoss is the loss whose expectation is certified, with the target that is predicted.
type TargetLoss struct {
	Loss
	Target string `json:"target"`         // the column's name
	Unit   string `json:"unit,omitempty"` // the word for the target's unit, such as minutes; may be empty
	// Tolerance is [AnyTolerance] if a curve is valued by its interval for the share [CurveShare]. It is empty
	// if a curve is valued by its bound at Epsilon.
	Tolerance string `json:"tolerance,omitempty"`
}

const (
	// AnyTolerance stands for every tolerance at once.
	AnyTolerance = "any"
	// CurveShare is the share of new rows that the interval must cover by which a curve is valued.
	CurveShare = 0.9
)

// Validate reports all faults of the declaration.
func (l TargetLoss) Validate() error {
	faults := faultList{ColumnName(l.Target), l.Loss.Validate()}
	if l.Unit != "" {
		faults.add(UnitName(l.Unit))
	}
	faults.when(l.Tolerance != "" && l.Tolerance != AnyTolerance, "the tolerance is %q, want none or %s", l.Tolerance, AnyTolerance)
	return faults.err()
}
