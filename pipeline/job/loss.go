package job

import (
	"cmp"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// LossSpec returns the declared loss in raw units of the target.
func (j Job) LossSpec(target Affine) certify.Loss {
	epsilon := j.Loss.Epsilon
	if j.Loss.EpsilonStd != 0 {
		epsilon = j.Loss.EpsilonStd * target.Scale
	}
	return certify.Loss{Kind: j.Loss.Kind, Epsilon: epsilon, Below: j.Loss.Below, Above: j.Loss.Above}
}

// A LossDecl declares the loss. Epsilon and EpsilonStd exclude each other.
type LossDecl struct {
	Kind       certify.LossKind `json:"kind"`                  // default zero-one
	Epsilon    float64          `json:"epsilon,omitempty"`     // in raw units of the target, or a share of the target if Kind is relative
	EpsilonStd float64          `json:"epsilon_std,omitempty"` // in standard deviations of the target over the prior rows
	Below      float64          `json:"below,omitempty"`       // of a band, in raw units: the prediction may be this much below the target
	Above      float64          `json:"above,omitempty"`       // of a band, in raw units: the prediction may be this much above the target
	// Tolerance is "" or [certify.AnyTolerance]. The latter asks for a curve that bounds the errors at every
	// tolerance at once. Training and PAC-Bayes then use ε, by default 0.6 standard deviations.
	Tolerance string `json:"tolerance,omitempty"`
	Unit      string `json:"unit,omitempty"` // the target's unit, such as minutes, for the certificate's sentences
}

// trainedStd is the default tolerance of training, in standard deviations, of a loss for every tolerance.
const trainedStd = 0.6

// any reports whether the loss is declared for every tolerance.
func (l LossDecl) any() bool { return l.Tolerance == certify.AnyTolerance }

// heldOut returns the default method for held-out rows.
func (l LossDecl) heldOut() certify.MethodID {
	if l.any() {
		return certify.MethodCurve
	}
	return certify.MethodHoldout
}

const needEpsilon = "choose the error, above 0, beyond which a prediction is a miss: in units of the target, as in epsilon: 5; " +
	"in its standard deviations, as in epsilon: {std: 0.6}; or every tolerance at once, as in tolerance: any; " +
	"it has no default, because only you know which error hurts"

func (l LossDecl) withDefaults(faults *faultList) LossDecl {
	l.Kind = cmp.Or(l.Kind, certify.LossZeroOne)
	switch {
	case l.any() && l.Kind == certify.LossZeroOne:
		if l.Epsilon == 0 && l.EpsilonStd == 0 {
			l.EpsilonStd = trainedStd
		}
	case l.Tolerance != "":
		faults.add("loss.tolerance: %q with the %s loss: the one value is %s, with %s", l.Tolerance, l.Kind, certify.AnyTolerance, certify.LossZeroOne)
	}
	tolerances := l.Kind.Tolerances()
	switch tolerances {
	case certify.OneTolerance:
		switch {
		case l.Epsilon == 0 && l.EpsilonStd == 0:
			faults.add("loss.epsilon: %s", needEpsilon)
		case l.Epsilon != 0 && l.EpsilonStd != 0:
			faults.add("loss.epsilon: give it in raw units or in standard deviations, not both")
		case !(l.Epsilon+l.EpsilonStd > 0) || math.IsInf(l.Epsilon+l.EpsilonStd, 0):
			faults.add("loss.epsilon: want a finite number above 0, not %v", l.Epsilon+l.EpsilonStd)
		}
	case certify.ShareTolerance:
		faults.when(l.EpsilonStd != 0 || !(0 < l.Epsilon && l.Epsilon <= certify.MostShare),
			"loss.epsilon: the %s loss takes a share of the target, above 0 and at most %d: 0.1 makes a prediction a miss when it is off by more than 10 %% of the target", l.Kind, certify.MostShare)
	case certify.TwoSided:
		faults.when(!(l.Below > 0 && l.Above > 0) || math.IsInf(l.Below+l.Above, 0),
			"loss: a band needs below > 0 and above > 0: a prediction from the target minus below to the target plus above is no miss")
	case certify.NoTolerance:
		if !slices.Contains(certify.LossKinds(), l.Kind) {
			faults.add("loss.kind: %q is none of %s", l.Kind, certify.List(certify.LossKinds()))
		} else if l.Epsilon != 0 || l.EpsilonStd != 0 {
			faults.add("loss.epsilon: the %s loss has no tolerance", l.Kind)
		}
	}
	faults.when(tolerances != certify.TwoSided && (l.Below != 0 || l.Above != 0),
		"loss: below and above belong to a band, not to %s", l.Kind)
	faults.when(tolerances == certify.TwoSided && (l.Epsilon != 0 || l.EpsilonStd != 0),
		"loss.epsilon: a band has below and above instead")
	if l.Unit != "" {
		faults.of("loss.unit", certify.UnitName(l.Unit))
	}
	return l
}
