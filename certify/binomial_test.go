package certify

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// One-sided against limits of 40 digits from an independent tool, and not loose.
func TestBinomialUpperIsSoundOnVectors(t *testing.T) {
	for _, v := range fewer(readVectors(t, "binomial.csv", 150)) {
		k, n, delta := int64(number(t, v["k"])), int64(number(t, v["n"])), number(t, v["delta"])
		got, err := BinomialUpper(k, n, delta, Share{})
		fatal.If(t, err)
		errsUp(t, got, truth(t, v["limit"]), 1e-12, 0, "the limit of %d of %d at delta %g", k, n, delta)
	}
}

// The limit is what it is called, by a slow sum of exact rationals: at it the tail
// is below δ, and a little under it the tail is not.
func TestBinomialUpperInvertsTheTail(t *testing.T) {
	sizes := []int64{1, 2, 7, 30, 65}
	if testing.Short() {
		sizes = sizes[:4]
	}
	for _, n := range sizes {
		for k := range n {
			for _, delta := range []float64{.5, .01, 1e-9} {
				p, err := BinomialUpper(k, n, delta, Share{})
				fatal.If(t, err)
				d, err := decimal(delta)
				fatal.If(t, err)
				if tail := exactTail(n, k, p); tail.Cmp(d) >= 0 {
					t.Errorf("%d of %d, delta %g: at %g the tail is %s", k, n, delta, p, tail.FloatString(20))
				}
				if under := p * (1 - 1e-11); k > 0 && under > float64(k)/float64(n) && exactTail(n, k, under).Cmp(d) < 0 {
					t.Errorf("%d of %d, delta %g: %g is loose", k, n, delta, p)
				}
			}
		}
	}
}

// exactTail is P(at most k of n) with probability p, without rounding.
func exactTail(n, k int64, p float64) *big.Rat {
	hit, miss := new(big.Rat).SetFloat64(p), new(big.Rat)
	miss.Sub(big.NewRat(1, 1), hit)
	power := func(x *big.Rat, e int64) *big.Rat {
		return new(big.Rat).SetFrac(new(big.Int).Exp(x.Num(), big.NewInt(e), nil), new(big.Int).Exp(x.Denom(), big.NewInt(e), nil))
	}
	sum := new(big.Rat)
	for j := range k + 1 {
		term := new(big.Rat).SetInt(new(big.Int).Binomial(n, j))
		term.Mul(term, power(hit, j))
		sum.Add(sum, term.Mul(term, power(miss, n-j)))
	}
	return sum
}

// The limit grows with the losses and falls with δ, its share is paid, and it is
// below Chernoff's bound, which has the same promise.
func TestBinomialUpperIsOrdered(t *testing.T) {
	const delta = .01
	sizes := []int64{50, 500, 200_000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		before := 0.
		for _, k := range []int64{0, 1, 5, n / 3, n / 2, n - 1, n} {
			got, err := BinomialUpper(k, n, delta, Share{})
			fatal.If(t, err)
			half, err := BinomialUpper(k, n, delta, partOf(1, 2))
			fatal.If(t, err)
			same, err := BinomialUpper(k, n, delta/2, Share{})
			fatal.If(t, err)
			chernoff, err := HoldoutBound(float64(k)/float64(n), n, delta)
			fatal.If(t, err)
			if !(got >= before && got > float64(k)/float64(n)-1e-15 && half >= got && half == same && got <= chernoff*(1+1e-15)) {
				t.Errorf("%d of %d: %v after %v, half of delta %v and %v, Chernoff %v", k, n, got, before, half, same, chernoff)
			}
			before = got
		}
		if before != 1 {
			t.Errorf("%d of %d: %v, want 1", n, n, before)
		}
	}
	// Whatever a document states is computed within seconds, from above.
	for _, far := range []struct {
		k, n  int64
		delta float64
	}{{1 << 61, 1 << 62, .01}, {6e8, 1e9, .01}, {55e7, 1e15, .5}, {0, 1, 1 - 0x1p-53}, {1 << 40, 1 << 41, 1e-300}, {0, 1 << 62, .5}} {
		began := time.Now()
		got, err := BinomialUpper(far.k, far.n, far.delta, Share{})
		if err != nil || !(got >= float64(far.k)/float64(far.n)) || got > 1 || time.Since(began) > 4*time.Second {
			t.Errorf("%+v: %v, %v after %v", far, got, err, time.Since(began))
		}
	}
	for _, bad := range []struct {
		k, n  int64
		delta float64
	}{{-1, 5, .1}, {6, 5, .1}, {0, 0, .1}, {1, 5, 0}, {1, 5, 1}, {1, 5, math.NaN()}} {
		if _, err := BinomialUpper(bad.k, bad.n, bad.delta, Share{}); err == nil {
			t.Errorf("%+v is no error", bad)
		}
	}
}

// ln n! by Stirling's series encloses what the product gives.
func TestLnFactorialEncloses(t *testing.T) {
	product := big.NewInt(1)
	for n := int64(1); n <= 130; n++ {
		product.Mul(product, big.NewInt(n))
		exactly := slowLn(new(big.Float).SetPrec(4000).SetInt(product))
		low, up := lnFactorial(n)
		if low.Cmp(exactly) >= 0 || exactly.Cmp(up) >= 0 {
			t.Errorf("ln %d! = %.30g is not within [%.30g, %.30g]", n, exactly, low, up)
		}
		if width, _ := empty().Sub(up, low).Float64(); !(width < 1e-25) {
			t.Errorf("ln %d! is enclosed within %g", n, width)
		}
	}
}

// Each method pays for its part of δ, and all parts together are δ.
func TestMethodsPayForTheirShares(t *testing.T) {
	ev := sound(t)
	ev.Delta.Methods = []MethodID{MethodPACBayes, MethodHoldout}
	c := certificate(t, ev)
	held, _ := c.Claim(ClaimHoldout)
	want, err := BinomialUpper(2, ev.Counts.Holdout, .00855, Share{}) // 19/20 of 9/10 of .01
	if err != nil || held.Bound != want {
		t.Errorf("the held-out rows' bound is %v, want %v (%v)", held.Bound, want, err)
	}
	draw, _ := c.Claim(ClaimDraw)
	weight, err := LnInverseWeight(len(ev.Model.Kernel.Families), ev.Model.Theta)
	fatal.If(t, err)
	b, err := Bound(Terms{Risk: *draw.Risk, KL: ev.Model.KL, LnInverseWeight: weight, N: draw.N, Delta: .001})
	if err != nil || draw.Bound != b.Upper {
		t.Errorf("the bound of a draw is %v, want %v (%v)", draw.Bound, b.Upper, err)
	}
	if first := c.Claims[0]; first.Predictor != PredictorMean || first.Bound != min(held.Bound, 2*draw.Bound) {
		t.Errorf("the first guarantee is %s with %v: want the least about the mean", c.Claims[0].ID, c.Claims[0].Bound)
	}
}
