package certify

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// A Delta is a declared δ and says how it is divided.
type Delta struct {
	Declared float64 `json:"declared"` // the decimal number δ, 0 < δ < 1; it has no default

	// Methods are the applied methods. The certificate's part of δ is divided among them, so that all their
	// claims hold at once.
	Methods []MethodID `json:"methods"`

	// Sequence is the certificate's position among those of the same job on other rows, which share δ. It is
	// nil for a certificate on its own.
	Sequence *Sequence `json:"sequence,omitempty"`

	// Reuse lists earlier uses of the held-out rows. It is nil if the log of the output has none.
	Reuse *Reuse `json:"holdout_reuse,omitempty"`
}

// Share returns the part of δ that a method of this certificate may spend. No other function divides δ. A
// method that the certificate does not apply has the share 0, which is not valid.
func (d Delta) Share(method MethodID) Share {
	if m, ok := methodByID(method); ok && m.with != "" {
		return d.Share(m.with)
	}
	var weight, all int64
	for _, m := range d.applied() {
		all += m.weight()
		if m.id == method {
			weight = m.weight()
		}
	}
	share := product(d.Sequence.share(), partOf(weight, all))
	if m, ok := methodByID(method); ok && m.needs.Subset == SubsetHoldout {
		share = product(share, d.Reuse.share())
	}
	return share
}

// validate reports all faults, NaN included.
func (d Delta) validate() error {
	return errors.Join(validDelta(d.Declared), ValidMethods(d.Methods), d.Sequence.validate(), d.Reuse.validate(d.Uses(SubsetHoldout)))
}

// ValidMethods reports all faults of a list of methods.
func ValidMethods(methods []MethodID) error {
	var faults faultList
	faults.when(len(methods) == 0, "no method: nothing is to be certified")
	faults.when(!slices.Contains(methods, MethodPACBayes), "%s is missing: training minimises its bound", MethodPACBayes)
	applies := Delta{Methods: methods}.Applies
	ofAll := applies(MethodHoldout) || applies(MethodCurve)
	faults.when(applies(MethodGroups) && !ofAll, "%s tells held-out rows apart: name %s or %s next to it, about all of them", MethodGroups, MethodHoldout, MethodCurve)
	faults.when(applies(MethodMean) && !ofAll, "%s goes with %s or %s: without held-out rows it is there by itself, so leave it out", MethodMean, MethodHoldout, MethodCurve)
	for i, m := range methods {
		_, known := methodByID(m)
		faults.when(!known, "method %q is unknown, want one of %s", m, List(Methods()))
		faults.when(slices.Contains(methods[:i], m), "method %q is named twice", m)
	}
	return faults.err()
}

// validDelta returns an error unless δ is a number between 0 and 1.
func validDelta(delta float64) error {
	if 0 < delta && delta < 1 {
		return nil
	}
	return fmt.Errorf("delta is %g, want a number between 0 and 1, such as 0.01 for a confidence of 99 %%", delta)
}

// A Share is a part of δ: an exact rational number, above 0 and at most 1. The zero Share is 1, all of δ.
type Share struct{ part *big.Rat } // nil means 1; never changed

// partOf returns the share weight/all. It is not valid for all < 1.
func partOf(weight, all int64) Share {
	if all < 1 {
		return Share{new(big.Rat)}
	}
	return Share{big.NewRat(weight, all)}
}

// product returns the product of shares.
func product(factors ...Share) Share {
	p := big.NewRat(1, 1)
	for _, f := range factors {
		p.Mul(p, f.rational())
	}
	return Share{p}
}

// rational returns the share as a number, which the caller must not change.
func (s Share) rational() *big.Rat {
	return cmp.Or(s.part, big.NewRat(1, 1))
}

func (s Share) validate() error {
	if r := s.rational(); r.Sign() <= 0 || r.Cmp(big.NewRat(1, 1)) > 0 {
		return fmt.Errorf("a share of %s of delta, want a number above 0 and at most 1", r.RatString())
	}
	return nil
}

// Float returns the float64 nearest to the share.
func (s Share) Float() float64 {
	f, _ := s.rational().Float64()
	return f
}

// String returns the share as a fraction, such as 1/3.
func (s Share) String() string { return s.rational().RatString() }

// lnInverseDelta returns an upper bound on ln 1/(δ·share): the next float64 above it, or one further. δ is the
// shortest decimal number that reads back as the float64 delta, as in a certificate: 0.01 means one in a
// hundred, not its binary neighbour. δ·share is exact, and must be above 0 and below 1.
func lnInverseDelta(delta float64, share Share) (float64, error) {
	part, err := decimal(delta)
	if err != nil {
		return 0, err
	}
	if part.Mul(part, share.rational()); part.Sign() <= 0 || part.Cmp(big.NewRat(1, 1)) >= 0 {
		return 0, fmt.Errorf("%s of delta %g is not between 0 and 1", share, delta)
	}
	inverse := empty().SetRat(part.Inv(part))
	return upward(widen(ln(widen(inverse, -240)), -200)), nil
}
