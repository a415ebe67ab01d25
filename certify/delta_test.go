package certify

import (
	"math"
	"math/big"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// One-sided against values of 40 digits from an independent tool.
func TestLnInverseDeltaIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "delta.csv", 50) {
		delta, predictors := number(t, v["delta"]), int64(number(t, v["alternatives"]))
		got, err := lnInverseDelta(delta, partOf(1, predictors))
		fatal.If(t, err)
		errsUp(t, got, truth(t, v["ln_inverse_delta"]), 0x1p-52, 0, "ln(%d/%g)", predictors, delta)
	}
}

// alone is the method of a certificate that has one.
func alone() []MethodID { return []MethodID{MethodPACBayes} }

// The union bound: what all methods spend together is δ, no more and no less, with what later uses of
// the held-out rows may spend.
func TestMethodsSpendDelta(t *testing.T) {
	spent := new(big.Rat)
	d := Delta{Declared: .01, Methods: []MethodID{MethodPACBayes, MethodHoldout}}
	for _, method := range d.Methods {
		share := d.Share(method).rational()
		if method == MethodHoldout {
			share = share.Mul(share, big.NewRat(20, 19))
		}
		spent.Add(spent, share)
	}
	if spent.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("the methods spend %s of delta, want all of it", spent)
	}
}

// Predictors that were fixed beforehand, with equal shares, from which the worst is
// chosen: the probability that any bound is too low, added up exactly, is at
// most δ for every risk. With all of δ for each it is above, so that the test
// would detect a share that is not paid.
func TestSharesHoldAtOnce(t *testing.T) {
	const n, predictors, delta = 8, 60, .3
	violated := func(share Share) (largest float64) {
		var upper [n + 1]float64
		for k := range upper {
			b, err := Bound(Terms{Risk: float64(k) / n, N: n, Delta: delta, Share: share})
			fatal.If(t, err)
			upper[k] = b.Upper
		}
		for p := .005; p < 1; p += .005 {
			largest = max(largest, 1-math.Pow(1-violation(upper[:], p), predictors))
		}
		return largest
	}
	if got := violated(partOf(1, predictors)); !(got <= delta) {
		t.Errorf("some of %d bounds is too low with probability %g, above δ = %g", predictors, got, delta)
	}
	if got := violated(Share{}); !(got > delta) {
		t.Errorf("with all of δ for each, some bound is too low with probability %g only: the test has no power", got)
	}
}
