package certify

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// withUnits is evidence with 40 hold-out units, two of which miss because more than a share of their rows
// does.
func withUnits(t testing.TB, share float64) Evidence {
	t.Helper()
	ev := sound(t)
	u := UnitLedger{Columns: []string{"day"}, Misses: &share, Reference: 20, Train: 300, Holdout: 40, Largest: 60}
	ev.Ledger = Ledger{Unit: u.Words(), Units: &u, Rows: 12700, Reference: 600, Train: 12005, Holdout: 85, Bad: 10}
	ev.Copies = Copies{Policy: CopiesIndependent, Distinct: 12600, Rows: 5, Features: 7}
	ev.Dependence = dependence(12605, 12005, -.0123)
	ev.Sample.Columns = []string{"distance", "hour", "day", "delay"}
	ev.Assumptions[0].ID = AssumeIndependentUnits
	ev.Tallies = Tallies{{PredictorDraw, RoleTrain}: {Risk: ones(9, 300)}, {PredictorMean, RoleHoldout}: {Risk: ones(2, 40)}}
	ev.Constant.Risk, ev.Constant.Missed = ones(180, 300), 290
	return ev
}

// A unit misses if more than the share of its rows does, as fractions of whole numbers compare: neither
// 0.29·100 nor 0.1·30 is a whole number in float64.
func TestUnitsMissExactly(t *testing.T) {
	for share, of := range map[float64][2]int64{0: {0, 1}, 0.07: {7, 100}, 0.1: {1, 10}, 0.29: {29, 100}, 0.3: {3, 10}, 0.57: {57, 100}, 0.999: {999, 1000}} {
		u := UnitLedger{Misses: &share}
		for m := int64(1); m <= 100; m++ {
			for k := range m + 1 {
				rows := Tally{Risk: ones(k, m), Beyond: make([]int64, curveTolerances)}
				for i := range rows.Beyond {
					rows.Beyond[i] = max(0, m-int64(i)) // of a hundred rows at the most
				}
				var all Tally
				fatal.If(t, u.AddHeldOut(&all, rows))
				want := k*of[1] > of[0]*m
				if all.Risk.Count() != 1 || all.Spread != nil || (all.Risk.ones() == 1) != want || all.Beyond[m-k] != all.Risk.ones() {
					t.Fatalf("%d of %d rows, share %v: %+v, want a miss: %t", k, m, share, all, want)
				}
			}
		}
		var part RiskSum // what no loss of 0 and 1 adds up to counts as the next one
		fatal.If(t, part.Merge(RiskSum{lo: uint64(share*UnitsPerLoss) + 1<<10, count: 1}))
		if missed, err := u.Missed(part); missed != 1 || err != nil {
			t.Errorf("a loss above %v: %d, %v", share, missed, err)
		}
	}
	nan := math.NaN()
	if _, err := (UnitLedger{Misses: &nan}).Missed(ones(1, 1)); err == nil {
		t.Error("a share of NaN decides")
	}
}

// The bound is Clopper and Pearson's for units, its words are about units, and it is held against what the
// constant would get.
func TestMissedUnitsFollowFromTheirDocument(t *testing.T) {
	for share, words := range map[float64][2]string{
		0.125: {"more than 12.5 % of the predictions", "misses more than 12.5 % of the rows of at least 290 of these units"},
		0:     {"some of the predictions", "misses some of the rows of at least 290 of these units"},
	} {
		ev := withUnits(t, share)
		c := certificate(t, ev)
		g, _ := c.Guarantee(GuaranteeHoldout)
		bound, err := BinomialUpper(2, 40, 0.01, ev.Delta.Share(MethodHoldout))
		if err != nil || g.Bound != bound || g.Status != StatusConditional || g.N != 40 || g.EmpiricalRisk.Exact != ones(2, 40) || !strings.Contains(g.Method, "Pearson (1934) on units") {
			t.Errorf("%v, want the bound %v, %v", g, bound, err)
		}
		want := "in at most " + PercentUp(bound) + ` of fresh units of "day", ` + words[0] + ` (the mean of Q) of "delay" for rows that satisfy the row rules are off by more than 15 "minutes", 99 % confidence if`
		if !strings.HasPrefix(g.Headline, want) || strings.Contains(g.Headline+g.Statement, "on average") || !strings.Contains(c.Baseline.Statement, words[1]) {
			t.Errorf("headline %q, want %q\n%s\n%s", g.Headline, want, g.Statement, c.Baseline.Statement)
		}
		data := marshal(t, c)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		fatal.If(t, err)
		again, err := Parse(data)
		if err != nil || Recompute(again) != nil || compileSchema(t).Validate(value) != nil || !strings.Contains(string(data), `"misses": `) {
			t.Errorf("read again: %v, %v, %v", err, Recompute(again), compileSchema(t).Validate(value))
		}
		if ev.Constant.Missed = 10; certificate(t, ev).About(PredictorMean).Status != StatusVacuous {
			t.Error("a bound above that of a constant is not vacuous")
		}
	}
	one, other := certificate(t, withUnits(t, 0.1)), certificate(t, withUnits(t, 0.2))
	if reasons := Incomparable(one, other); len(reasons) != 1 || !strings.Contains(reasons[0], "10 % and 20 %") {
		t.Errorf("shares of 10 and 20 %%: %q", reasons)
	}
}

// A curve by unit counts the units of which more than the share of the rows is off by more, has the limits
// of a band for as many, says so, and follows from its document.
func TestCurveOfUnits(t *testing.T) {
	for share, words := range map[float64]string{0.125: "at most 12.5 %", 0: "none"} {
		ev := withUnits(t, share)
		ev.Delta.Methods = []MethodWeight{{MethodPACBayes, 1}, {MethodCurve, 1}}
		tally := &Tally{}
		for i := range 40 {
			var rows Tally
			for row := range 8 {
				off := 0.4 * float64(i+1)
				if row == 0 && share > 0 { // one of eight is no miss
					off = 1000
				}
				add(t, &rows.Risk, map[bool]float64{true: 1}[off > 15])
				rows.AddError(off, 15, off > 15)
			}
			fatal.If(t, ev.Ledger.Units.AddHeldOut(tally, rows))
		}
		ev.Tallies[TallyKey{PredictorMean, RoleHoldout}] = tally
		c := certificate(t, ev)
		g, _ := c.Guarantee(GuaranteeCurve)
		part, err := partDown(ev.Delta.Declared, ev.Delta.Share(MethodCurve))
		fatal.If(t, err)
		for _, s := range g.Curve.Steps {
			beyond := int64(0)
			for i := range 40 {
				if 0.4*float64(i+1) > s.Tolerance {
					beyond++
				}
			}
			if s.Misses != beyond || s.Bound != newBand(40, part).limit(beyond) {
				t.Errorf("at %g: %d units and %g, want %d", s.Tolerance, s.Misses, s.Bound, beyond)
			}
		}
		if len(g.Curve.Steps) < 10 || g.N != 40 || g.EmpiricalRisk.Exact != ones(3, 40) || !strings.Contains(g.Method, "the errors on units") ||
			!strings.Contains(g.Headline, `are off by more than 15 "minutes"; in half of all fresh units `+words+" by more than ") ||
			!strings.Contains(g.Statement, `, at least 50 % of fresh units of "day" have `+words+" of their rows that satisfy the row rules off by more than ") {
			t.Errorf("%d steps, %+v\n%s\n%s\n%s", len(g.Curve.Steps), g.EmpiricalRisk, g.Method, g.Headline, g.Statement)
		}
		data := marshal(t, c)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		fatal.If(t, err)
		again, err := Parse(data)
		if err != nil || Recompute(again) != nil || compileSchema(t).Validate(value) != nil {
			t.Errorf("read again: %v, %v, %v", err, Recompute(again), compileSchema(t).Validate(value))
		}
		for name, change := range map[string]func(u *UnitLedger){
			"means": func(u *UnitLedger) { u.Misses = nil },
			"many":  func(u *UnitLedger) { u.Holdout = MostCurveUnits + 1 },
		} {
			u := *ev.Ledger.Units
			ev.Ledger.Units = &u
			change(&u)
			if _, err := Certify(ev); err == nil || !strings.Contains(err.Error(), "a curve of ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestMissesAreValidated(t *testing.T) {
	for name, change := range map[string]func(ev *Evidence){
		"all rows":              func(ev *Evidence) { *ev.Ledger.Units.Misses = 1 },
		"less than none":        func(ev *Evidence) { *ev.Ledger.Units.Misses = -0.1 },
		"NaN":                   func(ev *Evidence) { *ev.Ledger.Units.Misses = math.NaN() },
		"a loss that is a mean": func(ev *Evidence) { ev.Loss.Kind = LossSquared },
		"no hold-out units": func(ev *Evidence) {
			ev.Delta.Methods = ev.Delta.Methods[:1]
			ev.Ledger.Train, ev.Ledger.Holdout, ev.Ledger.Units.Holdout = ev.Ledger.Train+85, 0, 0
			ev.Dependence, ev.Copies.Distinct = dependence(12690, 12090, -.0123), 12685
			delete(ev.Tallies, TallyKey{PredictorMean, RoleHoldout})
		},
		"more units than there are":  func(ev *Evidence) { ev.Constant.Missed = 301 },
		"fewer than none":            func(ev *Evidence) { ev.Constant.Missed = -1 },
		"a yardstick without misses": func(ev *Evidence) { ev.Ledger.Units.Misses = nil },
	} {
		ev := withUnits(t, 0.1)
		change(&ev)
		if _, err := Certify(ev); err == nil || !strings.Contains(err.Error(), "units") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
