package certify

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

func guarantee(t *testing.T, c Certificate, id ClaimID) Claim {
	t.Helper()
	g, ok := c.Claim(id)
	if !ok {
		t.Fatalf("there is no guarantee %q", id)
	}
	return g
}

// without returns sound evidence of a sample without held-out rows.
func without(t *testing.T) Evidence {
	t.Helper()
	ev := sound(t)
	ev.Delta.Methods = ev.Delta.Methods[:1]
	ev.LossSums = ev.LossSums.For(ev.Delta)
	ev.Counts.Prior, ev.Counts.Holdout = ev.Counts.Prior+ev.Counts.Holdout, 0
	ev.Dependence = dependence(12685, 0)
	return ev
}

// Without held-out rows predictions are the mean of Q, and twice the bound of a draw holds for it.
func TestBoundOfTheMeanStopsAtOne(t *testing.T) {
	ev := without(t)
	ev.Model.KL = 12_000
	mean := guarantee(t, certificate(t, ev), ClaimMean)
	if mean.Bound != 1 || mean.Status != StatusVacuous {
		t.Errorf("bound of the mean is %g, %s", mean.Bound, mean.Status)
	}
}

func TestStatusOfABound(t *testing.T) {
	nan := math.NaN()
	ev := sound(t)
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
		for _, subset := range subsets {
			if got := ev.status(Claim{Subset: subset, Bound: v.bound, Baseline: v.baseline}); got != v.want {
				t.Errorf("status of bound %g with baseline %g from %s rows is %s, want %s", v.bound, v.baseline, subset, got, v.want)
			}
		}
	}
}

// An assumption that fails voids every claim that rests on it, also one that is vacuous.
func TestStatusOfEvidence(t *testing.T) {
	all := variants(t)
	both := all["jitter"]
	both.Model.KL = 20_000
	all["jitter and vacuous"] = both
	ended := sound(t)
	ended.Delta.Reuse = &Reuse{Earlier: []int64{85}, Ended: true}
	all["ended"] = ended
	for name, want := range map[string][2]Status{ // of held-out and training rows
		"zero-one": {StatusCertified, StatusCertified}, "vacuous": {StatusCertified, StatusVacuous}, "worse": {StatusVacuous, StatusVacuous},
		"jitter": {StatusVoid, StatusVoid}, "jitter and vacuous": {StatusVoid, StatusVoid}, "ended": {StatusVoid, StatusCertified},
	} {
		c := certificate(t, all[name])
		for i, id := range []ClaimID{ClaimHoldout, ClaimDraw} {
			if g := guarantee(t, c, id); name != "worse" && g.Status != want[i] {
				t.Errorf("%s: %s is %s, want %s", name, g.ID, g.Status, want[i])
			}
		}
		fails := slices.ContainsFunc(c.Assumptions, func(a Assumption) bool { return a.Fails })
		if void := want[0] == StatusVoid; fails != void {
			t.Errorf("%s: an assumption fails: %v", name, fails)
		}
	}
}

// A certificate lists what cannot be checked, and names training again only if rows are held out.
func TestAssumptionsOfHeldOutRows(t *testing.T) {
	has := func(c Certificate) bool {
		return slices.Contains(c.Assumptions, Assumption{ID: AssumeHoldoutUnseen, Checked: CheckRetraining})
	}
	if c := certificate(t, sound(t)); !has(c) {
		t.Errorf("assumptions %v", c.Assumptions)
	}
	if c := certificate(t, without(t)); has(c) {
		t.Error("a certificate without held-out rows mentions them")
	}
}

// A headline is about the least certified bound, else about the least of all.
func TestAbout(t *testing.T) {
	all := []Claim{
		{ID: ClaimCurve, Predictor: PredictorMean, Status: StatusVacuous, Bound: 0.1},
		{ID: ClaimHoldout, Predictor: PredictorMean, Status: StatusCertified, Bound: 0.3},
		{ID: ClaimMean, Predictor: PredictorMean, Status: StatusCertified, Bound: 0.2},
	}
	for i, want := range []ClaimID{ClaimCurve, ClaimHoldout, ClaimMean} {
		c := Certificate{Claims: all[:i+1]}
		if got := c.About(PredictorMean).ID; got != want {
			t.Errorf("of %d claims the headline is about %s, want %s", i+1, got, want)
		}
	}
}

// δ is the decimal number that the certificate shows: ln 1/δ is not below that
// of the decimal, even where the float64 is above it.
func TestDeltaIsTheDecimalNumber(t *testing.T) {
	for _, delta := range []float64{.01, .05, .1, .2, .3, .001, 1e-12, .99} {
		d, err := decimal(delta)
		fatal.If(t, err)
		want := slowLn(new(big.Float).SetPrec(1400).SetRat(d.Inv(d)))
		got, err := lnInverseDelta(delta, Share{})
		fatal.If(t, err)
		errsUp(t, got, want, 0x1p-52, 0, "ln 1/%g", delta)
	}
}

// A unit is no sentence.
func TestUnitCannotChangeASentence(t *testing.T) {
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
}
