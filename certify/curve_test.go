package certify

import (
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// withCurve is evidence with a curve of the held-out rows, whose errors rise evenly up to largest.
func withCurve(t testing.TB, largest float64, methods ...MethodID) Evidence {
	t.Helper()
	ev := sound(t)
	ev.Delta.Methods = methods
	lossSum := &LossSum{}
	for i := range ev.Counts.Holdout {
		err := largest * float64(i+1) / float64(ev.Counts.Holdout)
		lost := err > ev.Loss.Epsilon
		loss := 0.
		if lost {
			loss = 1
		}
		add(t, &lossSum.Risk, loss)
		lossSum.AddError(err, ev.Loss.Epsilon, lost)
	}
	ev.LossSums[LossKey{PredictorMean, SubsetHoldout}] = lossSum
	return ev
}

// Each step is the limit of the band for rows of the next larger error, and the bound of the
// guarantee is that at its tolerance.
func TestCurveSteps(t *testing.T) {
	ev := withCurve(t, 16, MethodPACBayes, MethodCurve)
	g, _ := certificate(t, ev).Claim(ClaimCurve)
	n := ev.Counts.Holdout
	part, err := partDown(ev.Delta.Declared, ev.Delta.Share(MethodCurve))
	fatal.If(t, err)
	b := newBand(n, part)
	for _, s := range g.Curve.Steps {
		beyond := int64(0)
		for i := range n {
			if 16*float64(i+1)/float64(n) > s.Tolerance {
				beyond++
			}
		}
		if s.Misses != beyond || s.Bound != b.limit(beyond) || s.Bound >= 1 {
			t.Errorf("at %g: %d rows and %g, want %d and %g", s.Tolerance, s.Misses, s.Bound, beyond, b.limit(beyond))
		}
	}
	at, ok := g.Curve.At(15)
	if !ok || g.Bound != at.Bound || at.Misses != *g.Misses {
		t.Errorf("at its tolerance the curve has %+v, the guarantee %g", at, g.Bound)
	}
	if holdout, err := BinomialUpper(at.Misses, n, ev.Delta.Declared, ev.Delta.Share(MethodCurve)); err != nil || g.Bound <= holdout {
		t.Errorf("all tolerances at once cost %g, one %g, %v", g.Bound, holdout, err)
	}
}

// No price pays for what an earlier curve has shown.
func TestCurveEndsReuse(t *testing.T) {
	ev := withCurve(t, 10, MethodPACBayes, MethodHoldout, MethodCurve)
	ev.Delta.Reuse = &Reuse{Earlier: []int64{85}, Ended: true}
	c := certificate(t, ev)
	for _, g := range c.Claims {
		if g.Subset == SubsetHoldout && (g.Status != StatusVoid || g.Bound != 1) {
			t.Errorf("%s: %s, %g", g.ID, g.Status, g.Bound)
		}
		if g.Subset == SubsetTraining && g.Status == StatusVoid {
			t.Errorf("%s is %s", g.ID, g.Status)
		}
	}
	if err := Recompute(c); err != nil {
		t.Error(err)
	}
	ev.Delta.Reuse = &Reuse{Ended: true}
	if _, err := Certify(ev); err == nil {
		t.Error("reuse ended before the first use")
	}
}

func TestCurveFaultsAreErrors(t *testing.T) {
	for name, spoil := range map[string]func(*Evidence, *LossSum){
		"rising counts":          func(_ *Evidence, c *LossSum) { c.Beyond[400]++; c.Beyond[399] = 0 },
		"a negative count":       func(_ *Evidence, c *LossSum) { c.Beyond[511] = -1 },
		"more than all":          func(ev *Evidence, c *LossSum) { c.Beyond[0] = ev.Counts.Holdout + 1 },
		"another count at ε":     func(_ *Evidence, c *LossSum) { c.Risk.hi, c.Risk.lo = 0, 0 },
		"no tolerance":           func(ev *Evidence, _ *LossSum) { ev.Loss.Kind = LossSquared },
		"a tolerance far out":    func(ev *Evidence, _ *LossSum) { ev.Loss.Epsilon = 1e-300 },
		"the method, no numbers": func(_ *Evidence, c *LossSum) { c.Beyond = nil },
	} {
		ev := withCurve(t, 16, MethodPACBayes, MethodCurve)
		spoil(&ev, ev.LossSums.At(PredictorMean, SubsetHoldout))
		if _, err := Certify(ev); err == nil {
			t.Error(name + ": no error")
		}
	}
}

// A document cannot state other steps than follow.
func TestForgedCurvesAreRefused(t *testing.T) {
	for name, forge := range map[string]func(*Curve){
		"the level":      func(c *Curve) { c.Level *= 2 },
		"a bound":        func(c *Curve) { c.Steps[0].Bound *= 0.999 },
		"a count":        func(c *Curve) { c.Steps[0].Misses-- },
		"a tolerance":    func(c *Curve) { c.Steps[0].Tolerance *= 0.999 },
		"a foreign step": func(c *Curve) { c.Steps = append(c.Steps, Step{Tolerance: 1e9, Misses: 0, Bound: .01}) },
	} {
		c := certificate(t, withCurve(t, 16, MethodPACBayes, MethodCurve))
		for i := range c.Claims {
			if g := &c.Claims[i]; g.Curve != nil {
				g.Curve = &Curve{g.Curve.Level, slices.Clone(g.Curve.Steps)}
				forge(g.Curve)
			}
		}
		if err := Recompute(c); err == nil {
			t.Error(name + " is believed")
		}
	}
}

// refusesLess demands that a part of so many rows is read whole, and of no fewer.
func refusesLess(t *testing.T, data []byte, rows int64) {
	t.Helper()
	for cut := range data {
		if _, err := ReadPart(data[:cut], rows); err == nil {
			t.Fatalf("%d of %d bytes are read", cut, len(data))
		}
	}
	if _, err := ReadPart(data, rows-1); err == nil {
		t.Error("more rows than were read")
	}
}

// part is the form of loss sums in a part of a pass.
func part(t *testing.T, all LossSums) []byte {
	t.Helper()
	data, err := all.MarshalPart()
	fatal.If(t, err)
	return data
}

func TestLossSumsWithErrorsMergeAndAreReadAgain(t *testing.T) {
	of := func(errors ...float64) LossSums {
		all := LossSums{}
		for _, e := range errors {
			lossSum := all.At(PredictorMean, SubsetHoldout)
			add(t, &lossSum.Risk, 0)
			lossSum.AddError(e, 1, !(e <= 1))
		}
		add(t, &all.At(PredictorDraw, SubsetTraining).Risk, .5)
		return all
	}
	a, whole := of(.5, 3), of(.5, 3, math.NaN(), 1)
	fatal.If(t, a.Merge(of(math.NaN(), 1)))
	a[LossKey{PredictorDraw, SubsetTraining}] = whole[LossKey{PredictorDraw, SubsetTraining}]
	data := part(t, a)
	if !slices.Equal(data, part(t, whole)) {
		t.Error("parts have other bytes than the whole")
	}
	again, err := ReadPart(data, 4)
	fatal.If(t, err)
	if beyond := again.Of(PredictorMean, SubsetHoldout).Beyond; beyond[0] != 4 || beyond[toleranceOwn] != 2 || beyond[curveTolerances-1] != 1 {
		t.Error(beyond)
	}
	own := again.Clone()
	own.At(PredictorMean, SubsetHoldout).Beyond[0] = 7
	if again.Of(PredictorMean, SubsetHoldout).Beyond[0] == 7 {
		t.Error("a clone shares the counts")
	}
	refusesLess(t, data, 4)
}
