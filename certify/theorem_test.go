package certify

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// binomial returns P(k of n) for success probability p, times exp(tilt).
func binomial(n, k int, p, tilt float64) float64 {
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	ln := lgamma(n) - lgamma(k) - lgamma(n-k)
	if k > 0 {
		ln += float64(k) * math.Log(p)
	}
	if k < n {
		ln += float64(n-k) * math.Log1p(-p)
	}
	return math.Exp(ln + tilt)
}

// Maurer (2004): for independent losses in [0, 1] with mean p,
// E exp(N·kl(R_S‖p)) ≤ ξ(N), with equality for losses 0 and 1.
func TestExponentialMomentIsAtMostXi(t *testing.T) {
	for _, n := range []int{1, 2, 7, 30, 300} {
		xi := math.Exp(LnXi(int64(n)))
		for _, p := range []float64{.003, .1, .5, .98} {
			var moment float64
			for k := range n + 1 {
				moment += binomial(n, k, p, float64(n)*bernoulliKL(float64(k)/float64(n), p))
			}
			if !(math.Abs(moment-xi) <= 1e-10*xi) {
				t.Errorf("N = %d, p = %g: the moment is %g, want ξ = %g", n, p, moment, xi)
			}
		}
		if n > 30 {
			continue
		}
		// Losses 0, ½ and 1 with probabilities ¼, ½, ¼: the sum is that of 2n fair coins, halved.
		var moment float64
		for k := range 2*n + 1 {
			moment += binomial(2*n, k, .5, float64(n)*bernoulliKL(float64(k)/float64(2*n), .5))
		}
		if !(moment <= xi) {
			t.Errorf("N = %d: the moment of losses 0, ½, 1 is %g, above ξ = %g", n, moment, xi)
		}
	}
}

// docs/explanation/theory.md, 6: Σ_k C(n,k) k^k (n−k)^(n−k) = Σ_i n^(n−i) n!/(n−i)!, in integers.
func TestCauchyIdentity(t *testing.T) {
	power := func(a, b int64) *big.Int { return new(big.Int).Exp(big.NewInt(a), big.NewInt(b), nil) }
	for n := int64(1); n <= 60; n++ {
		left, right, falling := new(big.Int), new(big.Int), big.NewInt(1)
		for k := range n + 1 {
			term := new(big.Int).Binomial(n, k)
			left.Add(left, term.Mul(term, power(k, k)).Mul(term, power(n-k, n-k)))
			right.Add(right, new(big.Int).Mul(falling, power(n, n-k)))
			falling.Mul(falling, big.NewInt(n-k))
		}
		if left.Cmp(right) != 0 {
			t.Errorf("n = %d: %v and %v", n, left, right)
		}
		ratio, _ := new(big.Rat).SetFrac(right, power(n, n)).Float64()
		if got := math.Exp(LnXi(n)); !(math.Abs(got-ratio) <= 1e-14*ratio) {
			t.Errorf("ξ(%d) = %.17g, want %.17g", n, got, ratio)
		}
	}
}

// Maurer (2004): √N ≤ ξ(N) ≤ 2√N, and ln ξ is where it must be on both sides of
// the switch to 2√N.
func TestXiIsBetweenItsKnownBounds(t *testing.T) {
	for n := int64(1); n <= XiLimit; n += 1 + n/3 {
		got, half := LnXi(n), math.Log(float64(n))/2
		if !(half <= got && got <= half+math.Ln2+1e-15) {
			t.Errorf("LnXi(%d) = %g is not between ln √N = %g and ln 2√N", n, got, half)
		}
	}
	for _, n := range []int64{XiLimit + 1, 1 << 53, math.MaxInt64} {
		want := math.Log(float64(n))/2 + math.Ln2
		if got := LnXi(n); !(math.Abs(got-want) <= 1e-14*want) {
			t.Errorf("LnXi(%d) = %.17g, want %.17g", n, got, want)
		}
	}
}

// Donsker and Varadhan: E_Q f ≤ KL(Q‖P) + ln E_P exp f for every f.
func TestChangeOfMeasure(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var p, q [5]float64
		var sp, sq float64
		for i := range p {
			p[i], q[i] = random.ExpFloat64(), random.ExpFloat64()
			sp, sq = sp+p[i], sq+q[i]
		}
		var left, kl, moment float64
		for i := range p {
			pi, qi, f := p[i]/sp, q[i]/sq, 3*random.NormFloat64()
			left += qi * f
			kl += qi * math.Log(qi/pi)
			moment += pi * math.Exp(f)
		}
		if !(left <= kl+math.Log(moment)+1e-12) {
			t.Errorf("E_Q f = %g is above %g", left, kl+math.Log(moment))
		}
	}
}

// The dual of the inverse: kl⁻¹(q, c) = min over b > 0 of
// (1 − exp(−bq − c))/(1 − exp(−b)), attained at b = logit p − logit q.
func TestKLInverseEqualsItsDual(t *testing.T) {
	logit := func(p float64) float64 { return math.Log(p) - math.Log1p(-p) }
	dual := func(b, q, c float64) float64 { return math.Expm1(-b*q-c) / math.Expm1(-b) }
	for _, q := range []float64{1e-6, .011, .1, .5, .9} {
		for _, c := range []float64{1e-6, 1e-3, .05, .5, 3} {
			p := KLInverse(q, c)
			for b := 1e-3; b < 40; b *= 1.3 {
				if d := dual(b, q, c); !(p <= d*(1+1e-12)) {
					t.Errorf("KLInverse(%g, %g) = %g is above its dual %g at b = %g", q, c, p, d, b)
				}
			}
			if d := dual(logit(p)-logit(q), q, c); !(math.Abs(p-d) <= 1e-9*p) {
				t.Errorf("KLInverse(%g, %g) = %g, dual optimum %g", q, c, p, d)
			}
		}
	}
}

// violation is the probability that a risk is above the bound that belongs to the number of losses of 1.
func violation(bounds []float64, risk float64) (sum float64) {
	for k, b := range bounds {
		if risk > b {
			sum += binomial(len(bounds)-1, k, risk, 0)
		}
	}
	return sum
}

// The PAC-Bayes-kl inequality for one hypothesis, where KL = 0, with the
// probability of a violation added up exactly: at most δ for every risk.
func TestBoundCoversExactly(t *testing.T) {
	const n, delta = 300, .05
	var upper [n + 1]float64
	for k := range upper {
		b, err := Bound(Terms{Risk: float64(k) / n, N: n, Delta: delta})
		fatal.If(t, err)
		upper[k] = b.Upper
	}
	for _, p := range []float64{.001, .01, .03, .1, .25, .5, .8, .97, .999} {
		if violated := violation(upper[:], p); !(violated <= delta) {
			t.Errorf("risk %g is above its bound with probability %g, above δ = %g", p, violated, delta)
		}
	}
}

// Chernoff's bound for one predictor, the same way: at most δ, and the test can
// fail, because some risk comes close to a third of it.
func TestHoldoutBoundCoversExactly(t *testing.T) {
	const n, delta = 300, .05
	var bounds [n + 1]float64
	for k := range bounds {
		var err error
		if bounds[k], err = HoldoutBound(float64(k)/n, n, delta); err != nil {
			t.Fatal(err)
		}
	}
	var worst float64
	for p := .002; p < 1; p += .002 {
		worst = max(worst, violation(bounds[:], p))
	}
	if !(worst <= delta) {
		t.Errorf("the risk is above its bound with probability %g, above δ = %g", worst, delta)
	}
	if worst < delta/5 {
		t.Errorf("the bound is violated with probability %g at most: too loose to test anything", worst)
	}
}

// hypotheses draws, for each of count hypotheses, the number of losses of 1
// among n rows, with risk 2⁻ᵏ for k = 1, 2, 3, 1, … (all 1/2 if same).
func hypotheses(random *rand.Rand, count, n int, same bool) (losses []int, risks []float64) {
	for h := range count {
		k := 1 + h%3
		if same {
			k = 1
		}
		ones := 0
		for left := n; left > 0; left -= 64 {
			word := ^uint64(0)
			for range k {
				word &= random.Uint64()
			}
			if left < 64 {
				word >>= 64 - left
			}
			ones += bits.OnesCount64(word)
		}
		losses, risks = append(losses, ones), append(risks, math.Ldexp(1, -k))
	}
	return losses, risks
}

// gibbs returns the law with weights in proportion to exp(−sharpness·losses),
// its KL from the uniform law, its empirical risk and its risk.
func gibbs(losses []int, risks []float64, n int, sharpness float64) (kl, empirical, risk float64) {
	weights, total := make([]float64, len(losses)), 0.
	least := slices.Min(losses)
	for h, k := range losses {
		weights[h] = math.Exp(-sharpness * float64(k-least))
		total += weights[h]
	}
	for h, w := range weights {
		q := w / total
		if q > 0 {
			kl += q * math.Log(q*float64(len(losses)))
		}
		empirical += q * float64(losses[h]) / float64(n)
		risk += q * risks[h]
	}
	return max(kl, 0), min(empirical, 1), risk
}

// The theorem on 1,000 simulated samples of N = 300 rows, with 90 hypotheses of
// known risk and a Q that is fitted to the sample: the risk is above its
// bound in at most δ of them.
func TestCoverage(t *testing.T) {
	const n, delta, runs = 300, .1, 1000
	random := rand.New(rand.NewPCG(5, 6))
	violations := 0
	for range runs {
		losses, risks := hypotheses(random, 90, n, false)
		kl, empirical, risk := gibbs(losses, risks, n, 1)
		b, err := Bound(Terms{Risk: empirical, KL: kl, N: n, Delta: delta})
		fatal.If(t, err)
		if risk > b.Upper {
			violations++
		}
	}
	if violations > delta*runs {
		t.Errorf("%d violations in %d runs, more than δ = %g allows", violations, runs, delta)
	}
}

// The same with a prior that was fitted to the certified rows, so that KL = 0:
// it must violate δ, or the test above could not fail.
func TestCoverageFailsWithAPriorFittedToTheSample(t *testing.T) {
	const n, delta, runs = 300, .3, 1000
	random := rand.New(rand.NewPCG(7, 8))
	violations, honest := 0, 0
	for range runs {
		losses, risks := hypotheses(random, 300, n, true)
		kl, empirical, risk := gibbs(losses, risks, n, 20)
		b, err := Bound(Terms{Risk: empirical, KL: 0, N: n, Delta: delta})
		fatal.If(t, err)
		if risk > b.Upper {
			violations++
		}
		if b, err = Bound(Terms{Risk: empirical, KL: kl, N: n, Delta: delta}); err != nil {
			t.Fatal(err)
		}
		if risk > b.Upper {
			honest++
		}
	}
	if honest > delta*runs {
		t.Errorf("with KL: %d violations in %d runs, more than δ = %g allows", honest, runs, delta)
	}
	if violations <= delta*runs {
		t.Errorf("%d violations in %d runs: a fitted prior goes undetected at δ = %g", violations, runs, delta)
	}
}

// Theory of mean-2b: for a quasi-convex loss and a draw that is symmetric about
// the mean, the loss of the mean is at most twice the expected loss of a draw.
func TestMeanLosesAtMostTwiceADraw(t *testing.T) {
	const y = .7
	clip := func(x float64) float64 { return min(x, 1) }
	indicator := func(lost bool) float64 {
		if lost {
			return 1
		}
		return 0
	}
	for kind, loss := range map[LossKind]func(f float64) float64{
		LossZeroOne:         func(f float64) float64 { return indicator(math.Abs(f-y) > .6) },
		LossBand:            func(f float64) float64 { return indicator(f-y < -.2 || f-y > 1.1) },
		LossSquared:         func(f float64) float64 { return clip((f - y) * (f - y) / .36) },
		LossExponential:     func(f float64) float64 { return -math.Expm1(-(f - y) * (f - y) / .36) },
		LossRelativeZeroOne: func(f float64) float64 { return indicator(math.Abs(f-y) > .4*y) },
		LossRelative:        func(f float64) float64 { return clip(math.Abs(f-y) / y) },
	} {
		for m := -3.; m <= 4; m += .05 {
			for _, s := range []float64{.01, .3, 1, 5} {
				const cells = 4000 // equal probability, both halves alike
				var draw float64
				for i := range cells {
					z := math.Sqrt2 * math.Erfinv(2*(float64(i)+.5)/cells-1)
					draw += loss(m+s*z) / cells
				}
				if !(loss(m) <= 2*draw+1e-12) {
					t.Errorf("%s: the mean %g loses %g, a draw with deviation %g loses %g", kind, m, loss(m), s, draw)
				}
			}
		}
	}
}

// GaussianKL against the divergence by its other form, ½ Σ(λ − 1 − ln λ) + ½|m|²
// with the eigenvalues λ of S, for diagonal factors.
func TestGaussianKLOfDiagonals(t *testing.T) {
	const m = 40
	random := rand.New(rand.NewPCG(9, 10))
	mean, factor, want := make([]float64, m), make([]float64, m*m), 0.
	for i := range m {
		mean[i] = random.NormFloat64()
		lambda := math.Exp(random.NormFloat64())
		factor[i*m+i] = math.Sqrt(lambda)
		want += (mean[i]*mean[i] + lambda - 1 - math.Log(lambda)) / 2
	}
	got, err := GaussianKL(mean, factor, m)
	fatal.If(t, err)
	if got < want+.9e-9*(1+want) || got > want+1.1e-9*(1+want) {
		t.Errorf("GaussianKL = %.15g, want %.15g and the slack", got, want)
	}
}

func TestGaussianKLFaultsAreErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, v := range map[string]struct {
		mean, factor []float64
		m            int
	}{
		"no dimension":        {nil, nil, 0},
		"negative dimension":  {nil, nil, -1},
		"mean too short":      {[]float64{0}, []float64{1, 0, 0, 1}, 2},
		"factor too short":    {[]float64{0, 0}, []float64{1, 0, 0}, 2},
		"mean NaN":            {[]float64{nan}, []float64{1}, 1},
		"mean infinite":       {[]float64{-inf}, []float64{1}, 1},
		"mean overflows":      {[]float64{1e200}, []float64{1}, 1},
		"factor NaN":          {[]float64{0, 0}, []float64{1, 0, nan, 1}, 2},
		"diagonal NaN":        {[]float64{0}, []float64{nan}, 1},
		"diagonal infinite":   {[]float64{0}, []float64{inf}, 1},
		"diagonal 0":          {[]float64{0}, []float64{0}, 1},
		"diagonal negative":   {[]float64{0}, []float64{-1}, 1},
		"off-diagonal is inf": {[]float64{0, 0}, []float64{1, 0, inf, 1}, 2},
	} {
		if got, err := GaussianKL(v.mean, v.factor, v.m); err == nil {
			t.Errorf("%s: GaussianKL = %g, want an error", name, got)
		}
	}
	if got, err := GaussianKL([]float64{0, 0}, []float64{1, nan, 0, 1}, 2); err != nil || !(got <= 1.1e-9) {
		t.Errorf("with NaN above the diagonal: GaussianKL = %g, %v; want the slack alone", got, err)
	}
}

func TestBoundFaultsAreErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := Terms{Risk: .1, KL: 10, LnInverseWeight: 5, N: 100, Delta: .01}
	for name, spoil := range map[string]func(*Terms){
		"risk NaN": func(x *Terms) { x.Risk = nan }, "risk above 1": func(x *Terms) { x.Risk = 1.1 }, "risk negative": func(x *Terms) { x.Risk = -.1 },
		"KL NaN": func(x *Terms) { x.KL = nan }, "KL infinite": func(x *Terms) { x.KL = inf }, "KL negative": func(x *Terms) { x.KL = -1 },
		"weight NaN": func(x *Terms) { x.LnInverseWeight = nan }, "weight above 1": func(x *Terms) { x.LnInverseWeight = -1 }, "weight 0": func(x *Terms) { x.LnInverseWeight = inf },
		"no rows": func(x *Terms) { x.N = 0 }, "negative rows": func(x *Terms) { x.N = -5 },
		"delta NaN": func(x *Terms) { x.Delta = nan }, "delta 0": func(x *Terms) { x.Delta = 0 }, "delta 1": func(x *Terms) { x.Delta = 1 }, "delta negative": func(x *Terms) { x.Delta = -.1 },
	} {
		terms := good
		spoil(&terms)
		if got, err := Bound(terms); err == nil {
			t.Errorf("%s: Bound = %+v, want an error", name, got)
		}
	}
	for _, v := range []Terms{{Risk: nan, N: 1, Delta: .1}, {N: 0, Delta: .1}, {N: 1, Delta: nan}} {
		if got, err := HoldoutBound(v.Risk, v.N, v.Delta); err == nil {
			t.Errorf("HoldoutBound(%g, %d, %g) = %g, want an error", v.Risk, v.N, v.Delta, got)
		}
	}
	if _, err := Bound(good); err != nil {
		t.Error(err)
	}
}
