package certify

import (
	"math"
	"math/big"
	"reflect"
	"testing"
)

// One-sided against values of 40 digits from an independent tool.
func TestLnInverseDeltaIsSoundOnVectors(t *testing.T) {
	for _, v := range readVectors(t, "delta.csv", 50) {
		delta, alternatives := number(t, v["delta"]), int64(number(t, v["alternatives"]))
		got, err := lnInverseDelta(delta, Delta{Declared: delta, Alternatives: alternatives, Alternative: 1, Methods: alone()}.Share(MethodPACBayes))
		if err != nil {
			t.Fatal(err)
		}
		want := truth(t, v["ln_inverse_delta"])
		if below(got, want) {
			t.Errorf("unsound: ln(%d/%g) = %.18g is below %.18g", alternatives, delta, got, want)
		} else if nearest, _ := want.Float64(); got > math.Nextafter(nearest, 1e9) {
			t.Errorf("loose: ln(%d/%g) = %.18g, want %.18g", alternatives, delta, got, want)
		}
	}
}

// A tenth of 0.01 is 0.001, to the last bit: the product is exact.
func TestShareOfDeltaIsTheSmallerDelta(t *testing.T) {
	for _, v := range []struct {
		delta, part float64
		n           int64
	}{{.01, .001, 10}, {.3, .1, 3}, {.07, .01, 7}, {.99, .09, 11}, {1e-12, 1e-15, 1000}} {
		got, err := lnInverseDelta(v.delta, oneOf(v.n))
		if err != nil {
			t.Fatal(err)
		}
		if want, err := lnInverseDelta(v.part, Share{}); err != nil || got != want {
			t.Errorf("ln 1/(%g/%d) = %.18g, but ln 1/%g = %.18g (%v)", v.delta, v.n, got, v.part, want, err)
		}
	}
}

// alone is the method of a certificate that has one.
func alone() []MethodWeight { return []MethodWeight{{MethodPACBayes, 1}} }

// The union bound: what all methods of all alternatives spend together is δ, no
// more and no less, with what later looks at the hold-out rows may spend.
func TestAlternativesSpendDelta(t *testing.T) {
	for _, k := range []int64{1, 2, 3, 7, 49, 1000} {
		spent := new(big.Rat)
		for i := range k {
			d := Delta{Declared: .01, Alternatives: k, Alternative: i + 1, Methods: []MethodWeight{{MethodPACBayes, 3}, {MethodHoldout, k}}}
			for _, method := range Methods() {
				share := d.Share(method).rational()
				if method == MethodHoldout {
					share = share.Mul(share, big.NewRat(20, 19))
				}
				spent.Add(spent, share)
			}
		}
		if spent.Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("%d alternatives spend %s of delta, want all of it", k, spent)
		}
	}
}

func TestProductOfShares(t *testing.T) {
	a, b, c := oneOf(3), oneOf(7), oneOf(1<<62)
	for _, p := range []Share{product(a, b, c), product(c, b, a), product(product(a, b), c), product(a, Share{}, product(b, c))} {
		if want := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(21), big.NewInt(1<<62))); p.rational().Cmp(want) != 0 {
			t.Errorf("the product is %s, want %s", p, want)
		}
	}
	if p := product(); p.String() != "1" || p.validate() != nil {
		t.Errorf("the product of no share is %s, want the whole", p)
	}
	for _, n := range []int64{0, -1, math.MinInt64} {
		if err := oneOf(n).validate(); err == nil {
			t.Errorf("the share 1/%d is valid", n)
		}
	}
}

// The bound pays for the share: an alternative's is that of a job of its own
// with the smaller δ, and lies above that of the whole δ.
func TestBoundPaysForTheShare(t *testing.T) {
	terms := Terms{Risk: .05, KL: 30, LnInverseWeight: 14, N: 2000, Delta: .01}
	whole, err := Bound(terms)
	if err != nil {
		t.Fatal(err)
	}
	terms.Share = oneOf(10)
	part, err := Bound(terms)
	if err != nil {
		t.Fatal(err)
	}
	terms.Share, terms.Delta = Share{}, .001
	if alone, err := Bound(terms); err != nil || part != alone || !(part.Upper > whole.Upper) {
		t.Errorf("a tenth of 0.01 gives %+v, 0.001 gives %+v (%v), 0.01 gives %+v", part, alone, err, whole)
	}
	for _, bad := range []Share{oneOf(0), oneOf(-5), {big.NewRat(3, 2)}} {
		terms.Share = bad
		if got, err := Bound(terms); err == nil {
			t.Errorf("Bound with the share %s gives %+v, want an error", bad, got)
		}
	}
}

// A certificate of a sweep differs from one alone by what δ/K costs, and says
// so; one that claims fewer alternatives contradicts itself.
func TestCertificateOfAnAlternative(t *testing.T) {
	ev := sound(t)
	single := certificate(t, ev)
	ev.Delta.Alternatives, ev.Delta.Alternative = 8, 3
	c := certificate(t, ev)
	if err := Recompute(c); err != nil {
		t.Error(err)
	}
	got, before := c.Guarantees[0], single.Guarantees[0]
	if paid := got.LnInverseDelta - before.LnInverseDelta; !(math.Abs(paid-math.Log(8)) <= 1e-14) || !(got.Bound > before.Bound) {
		t.Errorf("one of 8 alternatives pays %v nats for %v instead of %v, want ln 8", paid, got.Bound, before.Bound)
	}
	if got.Delta != before.Delta || !reflect.DeepEqual(c.Delta, ev.Delta) {
		t.Errorf("delta is %v, %+v: want the declared one, and the share", got.Delta, c.Delta)
	}
	c.Delta = Delta{Declared: .01, Alternatives: 1, Alternative: 1, Methods: c.Delta.Methods}
	if err := Recompute(c); err == nil {
		t.Error("a certificate of a sweep passes for one alone")
	}
}

// A sweep of predictors that were fixed beforehand, from which the worst is
// chosen: the probability that any bound is too low, added up exactly, is at
// most δ for every risk. With all of δ for each it is above, so that the test
// would notice a share that is not paid.
func TestAllAlternativesHoldAtOnce(t *testing.T) {
	const n, alternatives, delta = 8, 60, .3
	violated := func(share Share) (most float64) {
		var upper [n + 1]float64
		for k := range upper {
			b, err := Bound(Terms{Risk: float64(k) / n, N: n, Delta: delta, Share: share})
			if err != nil {
				t.Fatal(err)
			}
			upper[k] = b.Upper
		}
		for p := .005; p < 1; p += .005 {
			var one float64
			for k := range upper {
				if p > upper[k] {
					one += binomial(n, k, p, 0)
				}
			}
			most = max(most, 1-math.Pow(1-one, alternatives))
		}
		return most
	}
	share := Delta{Declared: delta, Alternatives: alternatives, Alternative: 1, Methods: alone()}.Share(MethodPACBayes)
	if got := violated(share); !(got <= delta) {
		t.Errorf("some of %d bounds is too low with probability %g, above δ = %g", alternatives, got, delta)
	}
	if got := violated(Share{}); !(got > delta) {
		t.Errorf("with all of δ for each, some bound is too low with probability %g only: the test has no power", got)
	}
}
