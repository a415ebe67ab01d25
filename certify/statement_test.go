package certify

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// mustHold fails unless the text holds every part.
func mustHold(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

// mustNotHold fails if the text holds any part.
func mustNotHold(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q says %q", text, part)
		}
	}
}

func guarantee(t *testing.T, c Certificate, id GuaranteeID) Guarantee {
	t.Helper()
	g, ok := c.Guarantee(id)
	if !ok {
		t.Fatalf("there is no guarantee %q", id)
	}
	return g
}

// The sentence about a draw of Q says who draws what, what the confidence is
// over, what N counts, who the population is, and that the mean is not meant.
func TestStatementOfTheDraw(t *testing.T) {
	g := guarantee(t, certificate(t, sound(t)), GuaranteeDraw)
	if g.Status != StatusCertified || g.Predictor != PredictorDraw {
		t.Fatalf("status %s of %s, want certified of a draw of Q", g.Status, g.Predictor)
	}
	mustHold(t, g.Statement,
		"Under the stated assumptions", "confidence of at least 99 % over the draw of the N = 12000 certified rows", "reference rows are not counted",
		"a fresh distinct row drawn independently from the same source that satisfies the row rules",
		"about distinct rows: 5 of 12690 rows equal an earlier row and were left out; the mean of Q misses 6.3 % of the 12604 reference and train rows as they come, with their copies, which bounds nothing",
		`predictions of "delay" by a function drawn at random from Q are off by more than 15 "minutes" with probability at most `+AtMost(g.Bound),
		"average over both", "nor of the mean of Q")
	mustNotHold(t, g.Statement, "on the same event") // nothing is promised from below
}

// The sentence about the mean speaks of the mean only, at twice the bound.
func TestStatementOfTheMean(t *testing.T) {
	c := certificate(t, sound(t))
	draw, mean := guarantee(t, c, GuaranteeDraw), guarantee(t, c, GuaranteeMean)
	if mean.Bound != 2*draw.Bound || mean.Predictor != PredictorMean {
		t.Errorf("guarantee of the mean is %+v", mean)
	}
	mustHold(t, mean.Statement, `predictions (the mean of Q) of "delay" are off by more than 15 "minutes" with`, "probability at most "+AtMost(mean.Bound), "twice the bound of pb-full", "same event",
		`within 1.43e-05 "minutes" of the exact mean`, "gives no prediction")
	mustNotHold(t, mean.Statement, "drawn at random from", "at least 0")
}

// Sentences about rows of a log name its partitions: where keys choose the partition, others
// are another population.
func TestStatementNamesThePartitions(t *testing.T) {
	ev := sound(t)
	for i, p := range []int64{3, 0, 1} {
		ev.Sample.Segments = append(ev.Sample.Segments, Segment{Topic: "flights", Partition: p, First: 5, End: 90_000, Rows: 1000})
		if i == 2 {
			ev.Sample.Segments[i].Rows = ev.Sample.Rows - 2000
		}
	}
	ev.Sample.Shards = 3
	for _, g := range certificate(t, ev).Guarantees {
		mustHold(t, g.Headline, `of fresh distinct rows of partitions 0-1, 3 of "flights" `)
		mustHold(t, g.Statement, `from the same source, partitions 0-1, 3 of "flights", that satisfies the row rules`)
	}
	for want, of := range map[string][]int64{
		`partition 7 of "t"`:     {7, 7},
		`partitions 0-9 of "t"`:  {9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
		`partitions 1, 3 of "t"`: {3, 1, 3},
		`3 partitions of "t"`:    {0, 2, 4},
		``:                       nil,
	} {
		var s Sample
		for _, p := range of {
			s.Segments = append(s.Segments, Segment{Topic: "t", Partition: p})
		}
		if got := s.places(2); got != want {
			t.Errorf("partitions %v are %q, want %q", of, got, want)
		}
	}
}

func TestBoundOfTheMeanStopsAtOne(t *testing.T) {
	ev := sound(t)
	ev.KL = 12_000
	mean := guarantee(t, certificate(t, ev), GuaranteeMean)
	if mean.Bound != 1 || mean.Status != StatusVacuous {
		t.Errorf("bound of the mean is %g, %s", mean.Bound, mean.Status)
	}
}

func TestStatementsOfOtherLosses(t *testing.T) {
	all := variants(t)
	for name, parts := range map[string][]string{
		"band":        {`are more than 2 too low or more than 3 too high with probability at most`},
		"squared":     {"have an expected loss of at most", `costs (e / 15 "minutes")^2, but at most 1`},
		"exponential": {"have an expected loss of", "costs 1 - exp(-(e / 0.25)^2)"},
		"share":       {"are off by more than 10 % of the target with probability at most"},
		"relative":    {"have an expected loss of", "|e| / |target|, but at most 1"},
	} {
		g := guarantee(t, certificate(t, all[name]), GuaranteeDraw)
		mustHold(t, g.Statement, parts...)
		if name != "band" && name != "share" {
			mustNotHold(t, g.Statement, "with probability", "misses")
		}
	}
}

// A bound that is not below 1 and below the baseline is published as saying nothing.
func TestVacuousStatements(t *testing.T) {
	all := variants(t)
	g := guarantee(t, certificate(t, all["vacuous"]), GuaranteeDraw)
	c := certificate(t, all["worse"])
	for _, g := range []Guarantee{g, guarantee(t, c, GuaranteeDraw), guarantee(t, c, GuaranteeMean)} {
		if g.Status != StatusVacuous {
			t.Errorf("%s is %s, want vacuous", g.ID, g.Status)
		}
		mustHold(t, g.Statement, "Vacuous: nothing")
		mustNotHold(t, g.Statement, "confidence", "probability")
	}
	worse := guarantee(t, c, GuaranteeDraw)
	mustHold(t, worse.Statement, "is not below "+AtMost(c.Baseline.Bound)+", what the formula gives for the constant prediction 7.25 on the train rows")
	one := Guarantee{ID: GuaranteeDraw, Predictor: PredictorDraw, Bound: 1, Status: StatusVacuous}
	mustHold(t, statement(one, Certificate{Baseline: Baseline{Bound: 1}}), "The bound is 1, which holds for every predictor")
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

// A document cannot show that training did not see the hold-out rows, nor who chose them: its
// guarantee is conditional, says so, and is what a headline is about only for its maker.
func TestHoldoutIsConditional(t *testing.T) {
	c := certificate(t, sound(t))
	held := guarantee(t, c, GuaranteeHoldout)
	if held.Status != StatusConditional {
		t.Errorf("the hold-out is %s, want conditional", held.Status)
	}
	mustHold(t, held.Statement, "If training did not see the hold-out rows (holdout-unseen), their set was fixed before their values were known (holdout-fixed), and the job owes nothing to their values (one-attempt)")
	mustHold(t, held.Headline, "if training did not see the hold-out rows, and split and job owe nothing to their values")
	for _, a := range c.Assumptions {
		if (a.ID == AssumeHoldoutUnseen || a.ID == AssumeHoldoutFixed) && a.Status != AssumptionAssumed {
			t.Errorf("%s is %s, want assumed", a.ID, a.Status)
		}
	}
	if open := c.Conditional(); len(open) != 1 || open[0] != held {
		t.Errorf("conditional are %v, want the hold-out", open)
	}
	if held.Bound >= guarantee(t, c, GuaranteeMean).Bound {
		t.Fatal("the hold-out's bound is not the least: the test sees nothing")
	}
	if g := c.About(PredictorMean); g.ID != GuaranteeMean {
		t.Errorf("the headline about the mean is %s, want what is proven", g.ID)
	}
	if g := c.Best(PredictorMean); g != held {
		t.Errorf("for who takes the maker's word the headline about the mean is %s, %s", g.ID, g.Status)
	}
	ev := sound(t)
	ev.Delta.Methods = ev.Delta.Methods[:1]
	ev.Tallies = ev.Tallies.For(ev.Delta)
	ev.Ledger.Reference, ev.Ledger.Holdout = ev.Ledger.Reference+ev.Ledger.Holdout, 0
	ev.Dependence, ev.Copies.AsTheyCome = dependence(12685, 12000, 0), asTheyCome(12690)
	for _, a := range certificate(t, ev).Assumptions {
		if a.ID == AssumeHoldoutUnseen || a.ID == AssumeHoldoutFixed {
			t.Error("a certificate without hold-out rows speaks of them")
		}
	}
}

// A broken assumption voids every guarantee, and the sentence says which and why.
func TestIndicativeStatements(t *testing.T) {
	all := variants(t)
	for name, parts := range map[string][]string{
		"scaled": {"Broken: prior-before-rows. The theorem needs: The prior (kernel family", "What happened: Scaling used all rows."},
		"jitter": {"Broken: jitter.", "not proven to be at most 5e-09"},
	} {
		c := certificate(t, all[name])
		for _, g := range c.Guarantees {
			if g.Status != StatusIndicative {
				t.Errorf("%s: %s is %s, want indicative", name, g.ID, g.Status)
			}
			mustHold(t, g.Statement, append(parts, "NOTHING IS CERTIFIED", "which bounds nothing")...)
			mustNotHold(t, g.Statement, "confidence", "probability")
		}
	}
	ev := all["scaled"]
	ev.KL = 20_000
	if g := guarantee(t, certificate(t, ev), GuaranteeDraw); g.Status != StatusIndicative {
		t.Errorf("a vacuous bound with a broken assumption is %s, want indicative", g.Status)
	}
}

func TestBaselineStatement(t *testing.T) {
	all := variants(t)
	b := certificate(t, all["zero-one"]).Baseline
	mustHold(t, b.Statement, "yardstick", "7.25 is the best of 512 on the reference rows", "N = 12000 certified rows", "gives "+AtMost(b.Bound), "about fresh rows the number says nothing")
	mustNotHold(t, b.Statement, "confidence", "probability")
	mustHold(t, certificate(t, all["declared"]).Baseline.Statement, "-1 is the best of 512 on the first rows by rank")
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

// The first line is for the one who decides: about the mean, with the tolerance
// in it, and for every loss and status.
func TestHeadlines(t *testing.T) {
	all := variants(t)
	for name, want := range map[string]string{
		"zero-one":    `predictions (the mean of Q) of "delay" are off by more than 15 "minutes" in at most PERCENT of fresh rows, 99 % confidence`,
		"band":        `predictions (the mean of Q) of "delay" are more than 2 too low or more than 3 too high in at most PERCENT of fresh rows, 99 % confidence`,
		"squared":     `predictions (the mean of Q) of "delay" lose at most BOUND on average over fresh rows, where an error e costs (e / 15 "minutes")^2, but at most 1, 99 % confidence`,
		"exponential": `predictions (the mean of Q) of "delay" lose at most BOUND on average over fresh rows, where an error e costs 1 - exp(-(e / 0.25)^2), 99 % confidence`,
		"share":       `predictions (the mean of Q) of "delay" are off by more than 10 % of the target in at most PERCENT of fresh rows, 99 % confidence`,
		"relative":    `predictions (the mean of Q) of "delay" are off by at most PERCENT of the target on average over fresh rows (each counted as 100 % at most), 99 % confidence`,
		"vacuous":     `nothing is promised about predictions (the mean of Q) of "delay": the bound is 1, which holds for every predictor`,
		"worse":       `nothing useful is promised about predictions (the mean of Q) of "delay": the bound, PERCENT, is not below YARDSTICK, what the formula gives for a constant`,
		"scaled":      `nothing is certified about predictions (the mean of Q) of "delay": the assumption prior-before-rows does not hold`,
	} {
		c := certificate(t, all[name])
		if first, second, last := c.Guarantees[0], c.Guarantees[1], c.Guarantees[2]; first.Predictor != PredictorMean || first.Bound > second.Bound || last.ID != GuaranteeDraw {
			t.Fatalf("%s: guarantees %s, %s, %s: the best about the mean comes first, a draw last", name, first.ID, second.ID, last.ID)
		}
		for _, g := range c.Guarantees {
			want := strings.NewReplacer("PERCENT", PercentUp(g.Bound), "BOUND", AtMost(g.Bound), "YARDSTICK", PercentUp(c.Baseline.Bound)).Replace(want)
			// Bad rows were left out: the promise is about the others.
			want = strings.Replace(want, "fresh rows", "fresh distinct rows that satisfy the row rules", 1)
			if name == "vacuous" && g.ID == GuaranteeMean { // the hold-out is not
				want = "without its maker's word " + want
			}
			if g.ID == GuaranteeHoldout && g.Status == StatusConditional {
				want = strings.Replace(want, "99 % confidence", "99 % confidence if training did not see the hold-out rows, and split and job owe nothing to their values", 1)
			}
			if g.ID == GuaranteeDraw {
				want = strings.Replace(want, `predictions (the mean of Q) of "delay"`, `predictions of "delay" by a function drawn at random from Q`, 1)
			}
			if g.Headline != want && (name != "vacuous" || g.ID == GuaranteeMean) { // of a hold-out KL changes nothing
				t.Errorf("%s: headline of %s is\n%q, want\n%q", name, g.ID, g.Headline, want)
			}
		}
	}
}

// Without bad rows the first line has no condition.
func TestHeadlineWithoutBadRows(t *testing.T) {
	ev := sound(t)
	ev.Copies.Distinct += ev.Ledger.Bad
	ev.Ledger.Reference, ev.Ledger.Bad = ev.Ledger.Reference+ev.Ledger.Bad, 0
	ev.Dependence, ev.Copies.AsTheyCome = dependence(12610, 12000, 0), asTheyCome(12614)
	for _, g := range certificate(t, ev).Guarantees {
		if strings.Contains(g.Headline, "row rules") {
			t.Errorf("headline of %s: %s", g.ID, g.Headline)
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
	} {
		if err := UnitName(unit); err == nil {
			t.Errorf("%q is a unit", unit)
		}
	}
	for _, unit := range []string{"minutes", "US$", "m/s^2", "W/(m²·K)", "s⁻¹", "µg/m³", "°C", "%", "千円", "e\u0301tudes", "kW·h"} {
		if err := UnitName(unit); err != nil {
			t.Error(err)
		}
	}
	ev.Declared.Unit = "m(with-probability-0"
	for _, g := range certificate(t, ev).Guarantees {
		for _, text := range []string{g.Headline, g.Statement} {
			mustHold(t, text, `15 "m(with-probability-0" `)
		}
	}
}

// The guarantees of alternatives that were declared together hold at once: each
// is charged ln K.
func TestAlternativesShareDelta(t *testing.T) {
	all := variants(t)
	alone, one := guarantee(t, certificate(t, all["zero-one"]), GuaranteeDraw), guarantee(t, certificate(t, all["sweep"]), GuaranteeDraw)
	if got := one.LnInverseDelta - alone.LnInverseDelta; !(math.Abs(got-math.Log(12)) <= 1e-14) || !(one.Bound > alone.Bound) || one.Delta != alone.Delta {
		t.Errorf("one of 12 is charged %g more, bound %g instead of %g, want ln 12", got, one.Bound, alone.Bound)
	}
	mustHold(t, one.Statement, "together with the guarantees of the other 11 of 12 alternatives", "99 %")
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

// A statement has a tolerance in full, a headline rounds it up.
func TestStatementsHaveTolerancesInFull(t *testing.T) {
	const epsilon, exact = 1.0001000012345, "1.0001000012345"
	for name, l := range map[string]Loss{
		"zero-one": {Kind: LossZeroOne, Epsilon: epsilon}, "band": {Kind: LossBand, Below: epsilon, Above: epsilon},
		"squared": {Kind: LossSquared, Epsilon: epsilon}, "exponential": {Kind: LossExponential, Epsilon: epsilon},
	} {
		ev := sound(t)
		ev.Loss.Loss = l
		g := guarantee(t, certificate(t, ev), GuaranteeDraw)
		mustHold(t, g.Statement, exact)
		mustNotHold(t, g.Statement, "1.001")
		if mustHold(t, g.Headline, "1.001"); t.Failed() {
			t.Fatal(name)
		}
	}
	if got := atMostDigits(math.MaxFloat64); got != "1.7976931348623157e+308" {
		t.Errorf("the largest tolerance is printed as %s", got)
	}
}

// No unit holds a character that can be shown to the left of the number before it.
func TestUnitsDoNotRunFromTheRight(t *testing.T) {
	for _, unit := range []string{"דקות", "دقائق", "\U00010800", "\U00010C80", "\U0001E94B", "ـ", "\u0660"} {
		if UnitName(unit) == nil {
			t.Errorf("%q is accepted", unit)
		}
	}
	for _, unit := range []string{"minutes", "µm", "°C", "分", "метров"} {
		if err := UnitName(unit); err != nil {
			t.Error(err)
		}
	}
}
