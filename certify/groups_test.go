package certify

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// withGroups is evidence with groups by the hour: 40 rows at 7, one of them missed, 35 at 9, and ten others.
func withGroups(t testing.TB) Evidence {
	t.Helper()
	ev := sound(t)
	ev.Delta.Methods = []MethodID{MethodPACBayes, MethodHoldout, MethodGroups}
	ev.Grouping = &Grouping{Column: "hour", Values: []float64{7, 9}, Prior: []int64{300, 290, 10}}
	lossSum := ev.LossSums.At(PredictorMean, SubsetHoldout)
	lossSum.Groups = []Group{{N: 40, Misses: 1}, {N: 35}, {N: 10, Misses: lossSum.Risk.ones() - 1}}
	return ev
}

// Each group has the limit of Clopper and Pearson at a third of the method's part of delta, and one of ten
// rows says nothing.
func TestGroupsHaveEqualParts(t *testing.T) {
	ev := withGroups(t)
	c := certificate(t, ev)
	g, _ := c.Claim(ClaimGroups)
	for i, k := range []int64{1, 0} {
		of := g.Groups[i]
		want, err := BinomialUpper(k, of.N, 0.01, Share{big.NewRat(19*9, 20*19*3)})
		if err != nil || of.Bound != want || !(of.Bound < 1) {
			t.Errorf("group %d has the bound %v, want %v, %v", i, of.Bound, want, err)
		}
	}
	if g.Groups[2].Bound != 1 || g.Bound != 1 || g.Status != StatusCertified {
		t.Errorf("%s, %+v", g.Status, g)
	}
	ev.Grouping.Prior = []int64{310, 290, 0} // a group that no prior row has gets no part
	if g, _ := certificate(t, ev).Claim(ClaimGroups); g.Groups[2].Bound != 1 {
		t.Errorf("a group without prior rows: %+v", g)
	} else if want, err := BinomialUpper(0, 35, 0.01, Share{big.NewRat(19*9, 20*19*2)}); err != nil || g.Groups[1].Bound != want {
		t.Errorf("of two groups one has the bound %v, want %v, %v", g.Groups[1].Bound, want, err)
	}
	ev.Delta.Reuse = &Reuse{Earlier: []int64{85}, Ended: true}
	if g, _ := certificate(t, ev).Claim(ClaimGroups); g.Status != StatusVoid || g.Groups[0].Bound != 1 {
		t.Errorf("after the end of reuse: %+v", g)
	}
	ev = withGroups(t)
	lossSum := ev.LossSums.At(PredictorMean, SubsetHoldout)
	lossSum.Groups = []Group{{N: 29, Misses: lossSum.Risk.ones()}, {N: 29}, {N: 27}}
	if g, _ := certificate(t, ev).Claim(ClaimGroups); g.Status != StatusVacuous {
		t.Errorf("small groups are %s", g.Status)
	}
}

// GroupUpper is that of the independent program that made testdata/binomial.csv, at a part of delta.
func TestGroupUpperOnVectors(t *testing.T) {
	tried := 0
	for _, v := range readVectors(t, "binomial.csv", 150) {
		k, n, delta := int64(number(t, v["k"])), int64(number(t, v["n"])), number(t, v["delta"])
		if n < leastGroup || n > 1e6 || 5*delta >= 1 {
			continue
		}
		tried++
		got, err := groupUpper(k, n, 5, 5*delta, Share{})
		if want := number(t, v["limit"]); err != nil || !(got >= want*(1-1e-9) && got <= want*(1+1e-9)) {
			t.Errorf("groupUpper(%d, %d, 5, 5·%g) = %v, want %v, %v", k, n, delta, got, want, err)
		}
	}
	if tried < 10 {
		t.Errorf("%d vectors", tried)
	}
}

func TestGroupFaultsAreErrors(t *testing.T) {
	for name, spoil := range map[string]func(*Evidence, []Group){
		"a miss too many":        func(_ *Evidence, groups []Group) { groups[1].Misses++ },
		"a row too few":          func(_ *Evidence, groups []Group) { groups[0].N-- },
		"a negative count":       func(_ *Evidence, groups []Group) { groups[1].Misses, groups[0].Misses = -1, groups[0].Misses+1 },
		"misses beyond the rows": func(_ *Evidence, groups []Group) { groups[2].N, groups[0].N = 0, groups[0].N+groups[2].N },
		"a value too many":       func(ev *Evidence, _ []Group) { ev.Grouping.Values = []float64{7, 9, 11} },
		"no value":               func(ev *Evidence, _ []Group) { ev.Grouping.Values = nil },
		"values out of order":    func(ev *Evidence, _ []Group) { ev.Grouping.Values = []float64{9, 7} },
		"NaN":                    func(ev *Evidence, _ []Group) { ev.Grouping.Values[1] = math.NaN() },
		"the target":             func(ev *Evidence, _ []Group) { ev.Grouping.Column = "delay" },
		"a column of no row":     func(ev *Evidence, _ []Group) { ev.Grouping.Column = "carrier" },
		"a feature as none":      func(ev *Evidence, _ []Group) { ev.Grouping.Column, ev.Grouping.NotAFeature = "distance", true },
		"the method, no groups":  func(ev *Evidence, _ []Group) { ev.Grouping = nil },
		"the method, no numbers": func(ev *Evidence, _ []Group) { ev.LossSums.At(PredictorMean, SubsetHoldout).Groups = nil },
		"texts of other values": func(ev *Evidence, _ []Group) {
			ev.Grouping.NotAFeature, ev.Grouping.Texts = true, []string{"AA", "WN"}
		},
		"a bound in the counts": func(_ *Evidence, groups []Group) { groups[0].Bound = 0.001 },
		"no method":             func(ev *Evidence, _ []Group) { ev.Delta.Methods = ev.Delta.Methods[:2] },
		"no method of all rows": func(ev *Evidence, _ []Group) { ev.Delta.Methods = slices.Delete(ev.Delta.Methods, 1, 2) },
		"no count":              func(ev *Evidence, _ []Group) { ev.Loss.Kind = LossSquared },
	} {
		ev := withGroups(t)
		spoil(&ev, ev.LossSums.At(PredictorMean, SubsetHoldout).Groups)
		if _, err := Certify(ev); err == nil {
			t.Error(name + ": no error")
		}
	}
}

// A document cannot state other groups than follow.
func TestForgedGroupsAreRefused(t *testing.T) {
	for name, forge := range map[string]func(*Certificate, *Claim){
		"a bound":         func(_ *Certificate, g *Claim) { g.Groups[0].Bound *= 0.999 },
		"a silent group":  func(_ *Certificate, g *Claim) { g.Groups[2].Bound = 0.5 },
		"a count":         func(_ *Certificate, g *Claim) { g.Groups[0].N-- },
		"a miss":          func(_ *Certificate, g *Claim) { g.Groups[0].Misses-- },
		"prior rows":      func(c *Certificate, _ *Claim) { c.Grouping.Prior = []int64{310, 290, 0} },
		"a value":         func(c *Certificate, _ *Claim) { c.Grouping.Values = []float64{9, 7} },
		"a group less":    func(_ *Certificate, g *Claim) { g.Groups = g.Groups[:2] },
		"another column":  func(c *Certificate, _ *Claim) { c.Grouping.Column = "carrier" },
		"no more feature": func(c *Certificate, _ *Claim) { c.Grouping.NotAFeature = true },
	} {
		c := certificate(t, withGroups(t))
		at := slices.IndexFunc(c.Claims, func(g Claim) bool { return g.ID == ClaimGroups })
		forge(&c, &c.Claims[at])
		if err := Recompute(c); err == nil {
			t.Error(name + " is believed")
		}
	}
}

func TestLossSumsWithGroupsMergeAndAreReadAgain(t *testing.T) {
	of := func(groups ...int) LossSums {
		all := LossSums{}
		for i, g := range groups {
			lossSum := all.At(PredictorMean, SubsetHoldout)
			add(t, &lossSum.Risk, float64(i%2))
			lossSum.AddGroup(g, 3, i%2 == 1)
		}
		return all
	}
	a := of(0, 2)
	fatal.If(t, a.Merge(of(2, 2, 1, 0)))
	data := part(t, a)
	if !slices.Equal(data, part(t, of(0, 2, 2, 2, 1, 0))) {
		t.Error("parts have other bytes than the whole")
	}
	again, err := ReadPart(data, 6)
	if err != nil || !slices.Equal(again.Of(PredictorMean, SubsetHoldout).Groups, []Group{{N: 2, Misses: 1}, {N: 1}, {N: 3, Misses: 2}}) {
		t.Fatal(again.Of(PredictorMean, SubsetHoldout), err)
	}
	refusesLess(t, data, 6)
	other := LossSums{}
	other.At(PredictorMean, SubsetHoldout).AddGroup(3, 4, false)
	if err := a.Merge(other); err == nil {
		t.Error("counts of three and of four groups were merged")
	}
}

// The uses that stand for one of groups have as many answers as it, and not many more.
func TestGroupUsesPayForEveryAnswer(t *testing.T) {
	for _, n := range []int64{1, 2, 30, 1200} {
		for _, groups := range []int{1, 2, 3, 21} {
			m := int64(2*groups - 1)
			answers, paid := new(big.Int).Binomial(n+m, m), big.NewInt(1)
			for _, k := range GroupUses(n, groups) {
				paid.Mul(paid, big.NewInt(k+1))
			}
			if paid.Cmp(answers) < 0 || groups == 1 && paid.Cmp(answers) != 0 || n == 1200 && paid.Cmp(new(big.Int).Mul(answers, big.NewInt(3))) > 0 {
				t.Errorf("%d rows, %d groups: %v answers, paid for %v", n, groups, answers, paid)
			}
		}
	}
}

// Simulated: that the bound of any group is too low has a probability of at most delta, and is not far
// below it. At all of delta for each group it would be above.
func TestGroupsAreCovered(t *testing.T) {
	runs := 5000
	if testing.Short() {
		runs = 1000
	}
	const n, delta = 400, 0.2
	shares, risks := []float64{0.45, 0.3, 0.15, 0.1}, []float64{0.3, 0.1, 0.5, 0.2}
	type key struct {
		g     int
		n, of int64
	}
	known := map[key]int64{} // the least number of misses whose bound is not below the risk
	tooLow := func(g int, k, n, groups int64) bool {
		least, ok := known[key{g, n, groups}]
		if !ok {
			least = int64(sort.Search(int(n), func(k int) bool {
				b, err := groupUpper(int64(k), n, groups, delta, Share{})
				return err != nil || b >= risks[g]
			}))
			known[key{g, n, groups}] = least
		}
		return k < least
	}
	rng := rand.New(rand.NewPCG(3, 21))
	failed, unshared := 0, 0
	var rows []int64
	for run := range runs {
		if run%250 == 0 { // a bound takes milliseconds, so not each run has groups of other sizes
			rows = make([]int64, len(shares))
			for range n {
				g, u := 0, rng.Float64()
				for ; g < len(shares)-1 && u >= shares[g]; g++ {
					u -= shares[g]
				}
				rows[g]++
			}
		}
		misses := make([]int64, len(shares))
		for g := range rows {
			for range rows[g] {
				if rng.Float64() < risks[g] {
					misses[g]++
				}
			}
		}
		for of, count := range map[int64]*int{int64(len(risks)): &failed, 1: &unshared} {
			for g := range risks {
				if tooLow(g, misses[g], rows[g], of) {
					*count++
					break
				}
			}
		}
	}
	rate, room := float64(failed)/float64(runs), 3*math.Sqrt(delta*(1-delta)/float64(runs))
	if !(rate <= delta+room && rate >= delta/2) || !(float64(unshared)/float64(runs) > 2*delta) {
		t.Errorf("some group's bound is too low in %.4f of %d runs, want %g at most; without shares in %.4f", rate, runs, delta, float64(unshared)/float64(runs))
	}
	t.Logf("too low in %.4f of %d runs; without shares in %.4f", rate, runs, float64(unshared)/float64(runs))
}
