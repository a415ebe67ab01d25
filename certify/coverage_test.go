package certify

import (
	"fmt"
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// The theorem over finite classes of predictors with everything known: each has
// losses 0 and 1, independent of the others', with one probability p, and Q is
// the one that does best on the rows. Whether the risk of that one is above its
// bound is a sum over binomials, so that nothing here is simulated: a bound
// without one of its terms fails by what it lacks and not by chance.

// A class says how many predictors there are and how the choice is paid for.
type class struct {
	lengthscales, variances Grid // one predictor for each pair of values
	within                  int  // and within each law of θ, which KL pays for
}

// point is a grid of one value, which costs nothing.
func point() Grid { return Grid{Step: 1, Count: 1, Prior: PriorFlat} }

// guarantees returns the certified guarantees about random draws for every
// number of losses of 1 among n rows, Q being at the first values of the grids.
func (c class) guarantees(t *testing.T, n int, delta float64) []Claim {
	t.Helper()
	ev := sound(t)
	ev.Delta = Delta{Declared: delta, Methods: []MethodID{MethodPACBayes}}
	ev.LossSums = ev.LossSums.For(ev.Delta)
	ev.Model.KL = math.Log(float64(c.within))
	ev.Model.Kernel.Isotropic = true
	ev.Model.Theta = []Parameter{
		{Name: "ln lengthscale", Grid: c.lengthscales, Index: 0},
		{Name: "ln variance", Grid: c.variances, Index: 0},
	}
	ev.Counts = Counts{Rows: int64(n) + 1, Prior: 1, Training: int64(n)}
	ev.LossSums.At(PredictorDraw, SubsetTraining).Unproven, ev.Duplicates, ev.Dependence = 0, Duplicates{Policy: DuplicatesLimited, Limit: .01}, dependence(int64(n)+1, 0)
	found := make([]Claim, n+1)
	for ones := range found {
		ev.LossSums.At(PredictorDraw, SubsetTraining).Risk, ev.Constant.Risk = RiskSum{}, RiskSum{}
		for i := range n {
			loss := 0.
			if i < ones {
				loss = 1
			}
			add(t, &ev.LossSums.At(PredictorDraw, SubsetTraining).Risk, loss)
			addLower(t, &ev.Constant.Risk, 1)
		}
		found[ones], _ = certificate(t, ev).Claim(ClaimDraw)
	}
	return found
}

// atMost returns P(no more than k losses of 1 among n).
func atMost(n, k int, p float64) float64 {
	var sum float64
	for i := range k + 1 {
		sum += binomial(n, i, p, 0)
	}
	return min(sum, 1)
}

// anyOf returns the probability that at least one of k independent events of probability p happens.
func anyOf(k, p float64) float64 { return -math.Expm1(k * math.Log1p(-p)) }

// worst returns the largest probability, over all p, that the best-looking of
// count predictors has a risk above its bound: with the risk just above the
// bound that belongs to k losses, it is that of at most k losses. No other risk
// is worse, since fewer losses are likelier for smaller risks.
func worst(bounds []Claim, count float64) float64 {
	var most float64
	n := len(bounds) - 1
	for k, g := range bounds {
		if g.Bound < 1 {
			most = max(most, anyOf(count, atMost(n, k, g.Bound)))
		}
	}
	return most
}

// Whatever the choice is paid for with, the best-looking of many predictors
// stays below its bound with probability 1−δ. There is power: without the term,
// the bound fails nearly always (last column), and each class is so large that
// half of its price would not do either.
func TestBestOfAFiniteClassIsCovered(t *testing.T) {
	values := func(count int) Grid { return Grid{Step: .01, Count: count, Prior: PriorFlat} }
	const n, many = 120, 10_000
	for _, c := range []struct {
		name string
		class
	}{
		{"KL", class{point(), point(), many}},
		{"ln 1/p of the lengthscale", class{values(many), point(), 1}},
		{"ln 1/p of the variance", class{point(), values(many), 1}},
		{"all of them", class{values(10), values(10), 10}},
	} {
		for _, delta := range []float64{.3, .001} {
			t.Run(fmt.Sprintf("%s, delta %g", c.name, delta), func(t *testing.T) {
				covered := worst(c.guarantees(t, n, delta), many)
				unpaid := worst(class{point(), point(), 1}.guarantees(t, n, delta), many)
				if !(covered <= delta) {
					t.Errorf("the best of %d predictors has a risk above its bound with probability %g, above delta = %g", many, covered, delta)
				}
				if !(unpaid > 2*delta && unpaid > .09) {
					t.Errorf("without paying for the choice the bound fails with probability %g only: this test sees nothing", unpaid)
				}
				t.Logf("fails with probability %.3g; without paying for the choice %.3g", covered, unpaid)
			})
		}
	}
}

// δ itself: one predictor, nothing to pay for. There is power because 1/δ is
// far above what the bound is loose by: at δ = 10⁻⁴ and with 1 instead it
// fails a hundred times too often.
func TestDeltaIsCovered(t *testing.T) {
	const n, delta = 120, 1e-4
	one := class{point(), point(), 1}
	if covered := worst(one.guarantees(t, n, delta), 1); !(covered <= delta) {
		t.Errorf("the risk is above its bound with probability %g, above delta = %g", covered, delta)
	}
	if without := worst(one.guarantees(t, n, .999), 1); !(without > 100*delta) {
		t.Errorf("without ln 1/delta the bound fails with probability %g only: this test sees nothing", without)
	}
}

// Weights that differ: the best of all values of a peaked grid, each at its own
// price. There is power: without the distance from the centre 1,001 values are
// nearly free where the peak is narrow, and without the normaliser 600 are
// where it is wide; in both cases the bound then fails nearly always. Without the
// distance is also what a centre would pay that was put, after the certified
// rows were seen, on the value that they like best.
func TestBestOfAPeakedGridIsCovered(t *testing.T) {
	const n, delta, count = 120, .3, 1001
	rest := LnXi(n) + math.Log(1/delta)
	fails := func(prices []float64, p float64) float64 {
		below := make([]float64, n+1) // kl of k losses from p, in nats, and P(at most k)
		lower := make([]float64, n+1)
		for k := range below {
			below[k], lower[k] = n*bernoulliKL(float64(k)/n, p), atMost(n, k, p)
		}
		lnNone := 0.
		for _, price := range prices {
			chance := 0.
			for k := 0; float64(k) < n*p && below[k] > price+rest; k++ {
				chance = lower[k]
			}
			lnNone += math.Log1p(-chance)
		}
		return -math.Expm1(lnNone)
	}
	for _, v := range []struct {
		steps   float64
		without func(prices []float64, i int) float64
	}{
		{1, func(prices []float64, _ int) float64 { return prices[count/2] }},
		{300, func(_ []float64, i int) float64 { return math.Abs(float64(i-count/2)) / 300 }},
	} {
		grid := Grid{Step: .25, Count: count, Prior: PriorPeaked, Centre: count / 2, Width: v.steps * .25}
		prices, err := grid.LnInverseWeights()
		fatal.If(t, err)
		unpaid := make([]float64, count)
		for i := range prices {
			unpaid[i] = v.without(prices, i)
		}
		var covered, without float64
		step := .01
		if testing.Short() {
			step = .05
		}
		for p := step; p < 1; p += step {
			covered, without = max(covered, fails(prices, p)), max(without, fails(unpaid, p))
		}
		if !(covered <= delta) {
			t.Errorf("width of %g steps: the best of %d values has a risk above its bound with probability %g, above delta = %g", v.steps, count, covered, delta)
		}
		if !(without > 1.5*delta) {
			t.Errorf("width of %g steps: at half the price the bound fails with probability %g only: this test sees nothing", v.steps, without)
		}
		t.Logf("width of %g steps: fails with probability %.3g; with half of the price %.3g", v.steps, covered, without)
	}
}

// outside returns the largest probability, over all risks p, that kl(R̂‖p) exceeds c for
// one loss: from above or, by the symmetry of kl, from below. It is largest just beyond an
// end.
func outside(c float64, n int) float64 {
	ends := make([][2]float64, n+1)
	for k := range ends {
		ends[k] = [2]float64{1 - KLInverse(float64(n-k)/float64(n), c), KLInverse(float64(k)/float64(n), c)}
	}
	var most float64
	try := func(p float64) {
		if !(0 < p && p < 1) {
			return
		}
		var sum float64
		for k, end := range ends {
			if p < end[0] || p > end[1] {
				sum += binomial(n, k, p, 0)
			}
		}
		most = max(most, sum)
	}
	for _, end := range ends {
		try(math.Nextafter(end[0], -1))
		try(math.Nextafter(end[1], 2))
	}
	return most
}

// ξ(N) pays for both sides of one loss, and for laws that mix predictors. There is power
// at risks about ln(1/δ)/N: without ξ, no loss at all puts the risk above its bound with
// probability δ itself (Chernoff's bound is attained there), and some losses put it on
// the other side in addition.
func TestXiIsCovered(t *testing.T) {
	const delta = .3
	for _, n := range []int{1, 2, 3, 10, 30, 120} {
		g := class{point(), point(), 1}.guarantees(t, n, delta)[0]
		covered, without := outside(g.Exponent, n), outside((g.Exponent-g.LnXi/float64(n))*(1+1e-12), n)
		if !(covered <= delta) {
			t.Errorf("N = %d: the risk is outside with probability %g, above delta = %g", n, covered, delta)
		}
		if n > 1 && !(without > 1.02*delta) {
			t.Errorf("N = %d: without xi the risk is outside with probability %g only: this test sees nothing", n, without)
		}
		t.Logf("N = %d: outside with probability %.3g; without xi %.3g", n, covered, without)
	}
}
