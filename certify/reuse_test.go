package certify

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// use is the Delta of use j at n rows, with a tenth of δ for the other method.
func use(j int, n int64, delta float64) Delta {
	d := Delta{Declared: delta, Methods: []MethodID{MethodPACBayes, MethodHoldout}}
	if j > 1 {
		d.Reuse = &Reuse{Earlier: slices.Repeat([]int64{n}, j-1)}
	}
	return d
}

// Ten misses among 1,200 rows, δ = 0.01: the limits of Clopper and Pearson at the levels of
// docs/explanation/theory.md, 14, rounded to four decimals.
func TestUsesArePaid(t *testing.T) {
	for j, want := range map[int]float64{1: 0.0170, 2: 0.0307, 3: 0.0389, 5: 0.0535, 10: 0.0859} {
		d := use(j, 1200, 0.01)
		fatal.If(t, d.validate())
		got, err := BinomialUpper(10, 1200, d.Declared, d.Share(MethodHoldout))
		fatal.If(t, err)
		if math.Abs(got-want) > 0.00005 {
			t.Errorf("use %d: at most %.6f, want %.4f", j, got, want)
		}
		if got, want := d.Share(MethodPACBayes).String(), "1/10"; got != want {
			t.Errorf("use %d: %s of delta for the method that needs no held-out rows, want %s", j, got, want)
		}
	}
	for _, l := range []Reuse{{}, {Ended: true}, {Earlier: []int64{0}}, {Earlier: slices.Repeat([]int64{9}, MaxUses)}} {
		if l.validate(true) == nil {
			t.Errorf("%+v passes", l)
		}
	}
	if (&Reuse{Earlier: []int64{5}}).validate(false) == nil {
		t.Error("uses without held-out rows pass")
	}
}

// All uses on all paths that lead to them spend less than δ, and come as near to it as one likes.
func TestUsesSpendDelta(t *testing.T) {
	spent, paths := new(big.Rat), big.NewRat(1, 1)
	var l *Reuse
	for j := int64(1); j < 500; j++ {
		share := l.share().rational()
		spent.Add(spent, share.Mul(share, paths))
		if l == nil {
			l = &Reuse{}
		}
		l.Earlier = append(l.Earlier, j)
		paths.Mul(paths, big.NewRat(j+1, 1))
	}
	if left := new(big.Rat).Sub(big.NewRat(1, 1), spent); left.Cmp(big.NewRat(1, 5000)) != 0 {
		t.Errorf("499 uses leave %s of delta, want 1/5000", left)
	}
}

// Whatever the loss, what held-out rows show is one of n+1 answers: how many rows are missed, or the
// bound in steps of one row, and nothing next to it. A document that shows more is refused.
func TestUsesShowOneOfSoManyAnswers(t *testing.T) {
	for _, part := range []float64{0, 0x1p-60, .3, 1} {
		ev := sound(t)
		held := ev.LossSums.At(PredictorMean, SubsetHoldout)
		*held = LossSum{Unproven: 1}
		n := ev.Counts.Holdout
		for i := range n {
			loss := 0.0
			switch {
			case i == 0:
				loss = 1 // unproven: how many are is not shown
			case i < 3:
				loss = part
			}
			fatal.If(t, held.AddSpread(loss))
		}
		c := certificate(t, ev)
		g, shown := guarantee(t, c, ClaimHoldout), c.LossSums.Of(PredictorMean, SubsetHoldout)
		if want := 1 + int64(math.Ceil(2*part)); shown.Unproven != 0 || shown.Risk != ones(want, n) || shown.Spread != nil || *g.Misses != want {
			t.Errorf("two losses of %g and one unproven are shown as %+v, want %d", part, shown, want)
		}

		ev.Loss = TargetLoss{Loss: Loss{Kind: LossExponential, Epsilon: .25}, Target: ev.Loss.Target}
		c = certificate(t, ev)
		want, err := BettingUpper(held.Spread, ev.Delta.Declared, ev.Delta.Share(MethodHoldout))
		fatal.If(t, err)
		g = guarantee(t, c, ClaimHoldout)
		if g.Bound != want || !isStep(g.Bound, n) || g.Risk != nil || g.Misses != nil || c.LossSums.Of(PredictorMean, SubsetHoldout).Risk != ones(0, n) {
			t.Errorf("two losses of %g: the bound is %v next to %v, want %v alone", part, g.Bound, g.Risk, want)
		}
		fatal.If(t, Recompute(c))
		at := slices.IndexFunc(c.Claims, func(g Claim) bool { return g.ID == ClaimHoldout })
		for name, change := range map[string]func(*Claim){
			"next to the sum":         func(g *Claim) { g.Risk = new(held.Risk.Upper()) },
			"between two steps":       func(g *Claim) { g.Bound = math.Nextafter(g.Bound, 0) },
			"below that of no losses": func(g *Claim) { g.Bound = stepsUp(1, n) },
			"that is no number":       func(g *Claim) { g.Bound = math.NaN() },
		} {
			forged := c
			forged.Claims = slices.Clone(c.Claims)
			change(&forged.Claims[at])
			if Recompute(forged) == nil {
				t.Errorf("two losses of %g: a bound %s is accepted", part, name)
			}
		}
	}
}

// An analyst who uses the same rows 50 times, keeps what did well and votes, hardly
// ever gets a false bound if uses are paid, and always if they are not.
func TestGreedyAnalyst(t *testing.T) {
	const n, uses, delta, runs = 100, 50, 0.1, 300
	limits := map[[2]int]float64{} // by use and misses
	limit := func(j, misses int) float64 {
		at := [2]int{j, misses}
		if _, known := limits[at]; !known {
			d := use(j, n, delta)
			d.Methods = []MethodID{MethodHoldout}
			var err error
			limits[at], err = BinomialUpper(int64(misses), n, delta, d.Share(MethodHoldout))
			fatal.If(t, err)
		}
		return limits[at]
	}
	rng := rand.New(rand.NewPCG(25, 2))
	paid, unpaid := 0, 0
	for range runs {
		votes, last := make([]int, n), 0
		anyFalse := false
		for j := 1; j <= uses+1; j++ { // every predictor misses a fresh row with probability ½
			misses, tried := 0, make([]int, n)
			for i := range tried {
				tried[i] = 1 - 2*rng.IntN(2) // 1: it is right about row i
				if j == uses+1 && votes[i] != 0 {
					tried[i] = votes[i]
				}
				if tried[i] < 0 {
					misses++
				}
			}
			for i := range votes {
				if misses < n/2 {
					votes[i] += tried[i]
				} else {
					votes[i] -= tried[i]
				}
			}
			anyFalse, last = anyFalse || limit(j, misses) < 0.5, misses
		}
		if anyFalse {
			paid++
		}
		if limit(1, last) < 0.5 {
			unpaid++
		}
	}
	// Three deviations of a binomial number.
	if most := runs*delta + 3*math.Sqrt(runs*delta*(1-delta)); float64(paid) > most {
		t.Errorf("%d of %d analysts got a false bound, want at most %.0f", paid, runs, most)
	}
	if unpaid < runs*9/10 {
		t.Errorf("without the price %d of %d were: the analyst is not greedy enough", unpaid, runs)
	}
}
