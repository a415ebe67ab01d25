package certify

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func guarantee(t *testing.T, c Certificate, id GuaranteeID) Guarantee {
	t.Helper()
	g, ok := c.Guarantee(id)
	if !ok {
		t.Fatalf("there is no guarantee %q", id)
	}
	return g
}

// without returns sound evidence of a sample without hold-out rows.
func without(t *testing.T) Evidence {
	t.Helper()
	ev := sound(t)
	ev.Delta.Methods = ev.Delta.Methods[:1]
	ev.Tallies = ev.Tallies.For(ev.Delta)
	ev.Ledger.Reference, ev.Ledger.Holdout = ev.Ledger.Reference+ev.Ledger.Holdout, 0
	ev.Dependence = dependence(12685, 0)
	return ev
}

// Without hold-out rows predictions are the mean of Q, and twice the bound of a draw holds for it.
func TestBoundOfTheMeanStopsAtOne(t *testing.T) {
	ev := without(t)
	ev.KL = 12_000
	mean := guarantee(t, certificate(t, ev), GuaranteeMean)
	if mean.Bound != 1 || mean.Status != StatusVacuous {
		t.Errorf("bound of the mean is %g, %s", mean.Bound, mean.Status)
	}
}

func TestStatusOfABound(t *testing.T) {
	nan := math.NaN()
	for _, v := range []struct {
		bound, baseline float64
		want            Status
	}{
		{.1, .2, StatusCertified},
		{.2, .2, StatusVacuous},
		{.3, .2, StatusVacuous},
		{1, 1, StatusVacuous},
		{nan, .2, StatusVacuous},
		{.1, nan, StatusVacuous},
		{nan, nan, StatusVacuous},
	} {
		c := Certificate{Baseline: Baseline{Bound: v.baseline}}
		if got := c.status(Guarantee{Role: RoleTrain, Bound: v.bound}); got != v.want {
			t.Errorf("status of bound %g with baseline %g is %s, want %s", v.bound, v.baseline, got, v.want)
		}
		want := v.want
		if want == StatusCertified {
			want = StatusConditional
		}
		if got := c.status(Guarantee{Role: RoleHoldout, Bound: v.bound}); got != want {
			t.Errorf("status of a hold-out's bound %g with baseline %g is %s, want %s", v.bound, v.baseline, got, want)
		}
	}
}

// A broken assumption voids every guarantee, also one whose bound promises nothing anyway.
func TestStatusOfEvidence(t *testing.T) {
	all := variants(t)
	both := all["scaled"]
	both.KL = 20_000
	all["scaled and vacuous"] = both
	for name, want := range map[string]Status{
		"zero-one": StatusCertified, "vacuous": StatusVacuous, "worse": StatusVacuous,
		"scaled": StatusIndicative, "jitter": StatusIndicative, "scaled and vacuous": StatusIndicative,
	} {
		for _, g := range certificate(t, all[name]).Guarantees {
			if g.Role == RoleTrain && g.Status != want || want == StatusIndicative && g.Status != want {
				t.Errorf("%s: %s is %s, want %s", name, g.ID, g.Status, want)
			}
		}
	}
}

// A document cannot show that training did not see the hold-out rows, nor who chose them: its
// guarantee is conditional, and says so.
func TestHoldoutIsConditional(t *testing.T) {
	c := certificate(t, sound(t))
	held := guarantee(t, c, GuaranteeHoldout)
	if held.Status != StatusConditional {
		t.Errorf("the hold-out is %s, want conditional", held.Status)
	}
	for _, a := range c.Assumptions {
		if (a.ID == AssumeHoldoutUnseen || a.ID == AssumeHoldoutFixed) && a.Status != AssumptionAssumed {
			t.Errorf("%s is %s, want assumed", a.ID, a.Status)
		}
	}
	if open := c.Conditional(); len(open) != 1 || open[0] != held {
		t.Errorf("conditional are %v, want the hold-out", open)
	}
	if _, ok := c.Guarantee(GuaranteeMean); ok {
		t.Error("there is a bound of the mean of Q, which does not predict")
	}
	for _, a := range certificate(t, without(t)).Assumptions {
		if a.ID == AssumeHoldoutUnseen || a.ID == AssumeHoldoutFixed {
			t.Error("a certificate without hold-out rows speaks of them")
		}
	}
}

// A headline is about what is certified, else about what is conditional, and about nothing else unless there is
// no more.
func TestHeadlinePromises(t *testing.T) {
	all := []Guarantee{
		{ID: GuaranteeCurve, Predictor: PredictorMean, Status: StatusVacuous, Bound: 0.1},
		{ID: GuaranteeHoldout, Predictor: PredictorMean, Status: StatusConditional, Bound: 0.2},
		{ID: GuaranteeMean, Predictor: PredictorMean, Status: StatusCertified, Bound: 0.3},
	}
	for i, want := range []struct{ about, best GuaranteeID }{{GuaranteeCurve, GuaranteeCurve}, {GuaranteeHoldout, GuaranteeHoldout}, {GuaranteeMean, GuaranteeHoldout}} {
		c := Certificate{Guarantees: all[:i+1]}
		if about, best := c.About(PredictorMean).ID, c.Best(PredictorMean).ID; about != want.about || best != want.best {
			t.Errorf("of %d guarantees the headline is about %s, for who takes the maker's word %s: want %s and %s", i+1, about, best, want.about, want.best)
		}
	}
}

// Numbers in words are never on the wrong side of the number that they stand for.
func TestWordsRoundOutward(t *testing.T) {
	for _, v := range []struct {
		x        float64
		up, down string
	}{
		{0, "0.0000", "0.0000"},
		{1, "1.0000", "1.0000"},
		{.5, "0.5000", "0.5000"},
		{.08330001, "0.0834", "0.0833"},
		{.1, "0.1001", "0.1000"}, // the float64 is above one tenth
		{.3, "0.3000", "0.2999"}, // the float64 is below three tenths
		{math.Nextafter(1, 0), "1.0000", "0.9999"},
		{.000123456, "0.000124", "0.000123"},
		{1.00001e-12, "0.00000000000101", "0.00000000000100"},
		{5e-324, "0.000000000000000001", "0.000000000000000000"},
	} {
		if got := AtMost(v.x); got != v.up {
			t.Errorf("AtMost(%g) = %s, want %s", v.x, got, v.up)
		}
		if got := atLeast(v.x); got != v.down {
			t.Errorf("atLeast(%g) = %s, want %s", v.x, got, v.down)
		}
	}
	random := rand.New(rand.NewPCG(13, 14))
	for range 3000 {
		x := math.Pow(random.Float64(), 1+20*random.Float64())
		up, ok := new(big.Rat).SetString(AtMost(x))
		down, ok2 := new(big.Rat).SetString(atLeast(x))
		exactly := new(big.Rat).SetFloat64(x)
		if !ok || !ok2 || up.Cmp(exactly) < 0 || down.Cmp(exactly) > 0 {
			t.Errorf("%.17g is printed as at most %s, at least %s", x, AtMost(x), atLeast(x))
		}
	}
}

func TestConfidenceIsExact(t *testing.T) {
	for delta, want := range map[float64]string{
		.01: "99 %", .05: "95 %", .3: "70 %", .001: "99.9 %", .025: "97.5 %", 1e-12: "99.9999999999 %", .99: "1 %",
	} {
		if got := confidence(delta); got != want {
			t.Errorf("confidence(%g) = %s, want %s", delta, got, want)
		}
	}
	for delta, want := range map[float64]string{.01: "1 %", .05: "5 %", .001: "0.1 %", .07: "7 %", 1e-12: "0.0000000001 %"} {
		if got := PercentDeclared(delta); got != want {
			t.Errorf("PercentDeclared(%g) = %s, want %s", delta, got, want)
		}
	}
}

// δ is the decimal number that the certificate shows: ln 1/δ is not below that
// of the decimal, even where the float64 is above it.
func TestDeltaIsTheDecimalNumber(t *testing.T) {
	for _, delta := range []float64{.01, .05, .1, .2, .3, .001, 1e-12, .99} {
		d, err := decimal(delta)
		if err != nil {
			t.Fatal(err)
		}
		want := slowLn(new(big.Float).SetPrec(1400).SetRat(d.Inv(d)))
		got, err := lnInverseDelta(delta, Share{})
		if err != nil {
			t.Fatal(err)
		}
		if big.NewFloat(got).Cmp(want) < 0 {
			t.Errorf("ln 1/%g = %.17g is below %.25g", delta, got, want)
		} else if nearest, _ := want.Float64(); got > math.Nextafter(nearest, 1e9) {
			t.Errorf("ln 1/%g = %.17g is loose, want %.17g", delta, got, nearest)
		}
	}
}

// Forgery 5: a unit that closes its quotes, or a sentence in place of one, is no
// unit; what is left of one stands in quotes.
func TestUnitCannotChangeASentence(t *testing.T) {
	ev := sound(t)
	ev.Declared.Unit = "units with probability at most 0.0001. (Superseded text: it"
	if c, err := Certify(ev); err == nil {
		t.Errorf("Certify says %q", c.Guarantees[0].Statement)
	}
	for _, unit := range []string{
		"m, with probability 0.0001 (it", "minutes \u030e in at most 1 of rows", "0 in at most 0.1 pct of rows", "m\u3164s", "\u05d0", "˵", "ߴ",
		"in none of the fresh rows", "of no row", "US dollars", "in_no_row", "m,s", strings.Repeat("m", 25),
		"m\nok", `m\u`, "m\u202e", "m\u201d", "m❞", "\u0338m", "m\u2003s", // as are those that run from the right:
		"דקות", "دقائق", "\U00010800", "\U00010C80", "\U0001E94B", "ـ", "\u0660",
	} {
		if err := UnitName(unit); err == nil {
			t.Errorf("%q is a unit", unit)
		}
	}
	for _, unit := range []string{"minutes", "US$", "m/s^2", "W/(m²·K)", "s⁻¹", "µg/m³", "°C", "%", "千円", "e\u0301tudes", "kW·h", "метров"} {
		if err := UnitName(unit); err != nil {
			t.Error(err)
		}
	}
	ev.Declared.Unit = "m(with-probability-0"
	for _, g := range certificate(t, ev).Guarantees {
		for _, text := range []string{g.Headline, g.Statement} {
			if !strings.Contains(text, `15 "m(with-probability-0" `) {
				t.Errorf("%q has no unit in quotes", text)
			}
		}
	}
}

func TestDigitsOfAConditionRoundDown(t *testing.T) {
	for x, want := range map[float64]string{1.430511474609375e-05: "1.43e-05", 1: "1", .9999: "0.999", 123456: "1.23e+05", 1.2372: "1.23"} {
		if got := atLeastDigits(x); got != want {
			t.Errorf("atLeastDigits(%g) = %s, want %s", x, got, want)
		}
	}
}

func TestPercentagesRoundUp(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.0 %", 1: "100 %", .5: "50.0 %", .0613: "6.2 %", .1713: "17.2 %", .00051: "0.052 %", .000501: "0.051 %", .9995: "100 %", .999: "99.9 %", .25: "25.0 %", 1e-9: "0.00000011 %",
	} {
		if got := PercentUp(x); got != want {
			t.Errorf("PercentUp(%g) = %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{math.Nextafter(3./400, 1): "0.75 %", .0613: "6.1 %", .0617: "6.2 %", 0: "0.0 %", 1: "100 %"} {
		if got := PercentNear(x); got != want {
			t.Errorf("PercentNear(%g) = %s, want %s", x, got, want)
		}
	}
}

// A tolerance is printed as it was declared or, if it was computed, a little larger,
// which is exceeded no more often.
func TestTolerancesArePrintedOutwards(t *testing.T) {
	for x, want := range map[float64]string{
		15: "15", 0.7: "0.7", 123456789: "1.23456789e+08", 0.2455900525916819: "0.2456", 0.24551000000000001: "0.24551",
		99.99999999999: "100", 1.0000000000001: "1.001", 3.0e-7 / 7: "4.286e-08", 1234567890.5: "1.235e+09",
	} {
		if got := atMostDigits(x); got != want {
			t.Errorf("atMostDigits(%v) = %s, want %s", x, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		x := math.Exp(40 * rng.NormFloat64())
		got, err := strconv.ParseFloat(atMostDigits(x), 64)
		if err != nil || !(x <= got && got <= 1.0011*x) {
			t.Fatalf("%v is printed as %v", x, got)
		}
	}
	if got := nearDigits(-0.5489272932070002); got != "-0.5489" {
		t.Errorf("a constant is printed as %s", got)
	}
}
