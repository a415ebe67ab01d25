package certify

import (
	"math"
	"math/big"
	"testing"
)

func TestKLSpecialValues(t *testing.T) {
	inf := math.Inf(1)
	for _, v := range []struct{ q, p, want float64 }{
		{0, 0, 0},
		{1, 1, 0},
		{.3, .3, 0},
		{0, 1, inf},
		{1, 0, inf},
		{.5, 0, inf},
		{.5, 1, inf},
		{0, .5, math.Ln2},
		{1, .5, math.Ln2},
		{.5, math.Nextafter(.5, 1), 0x1p-105},
	} {
		if got := bernoulliKL(v.q, v.p); !(got == v.want || math.Abs(got-v.want) <= 1e-15*v.want) {
			t.Errorf("KL(%g, %g) = %g, want %g", v.q, v.p, got, v.want)
		}
	}
}

func TestKLInverseSpecialValues(t *testing.T) {
	inf := math.Inf(1)
	for _, v := range []struct{ q, c, upper float64 }{
		{0, 0, 0},
		{.3, 0, .3},
		{1, 0, 1},
		{.3, inf, 1},
		{0, inf, 1},
		{1, inf, 1},
		{.3, 1e6, 1},
		{1, math.Ln2, 1},
		{0, math.Ln2, .5},
	} {
		if got := KLInverse(v.q, v.c); !(got >= v.upper && got <= v.upper+1e-15) {
			t.Errorf("KLInverse(%g, %g) = %g, want %g", v.q, v.c, got, v.upper)
		}
	}
}

// NaN and numbers out of range are a caller's bug that must not become a bound.
func TestArgumentsOutOfRangePanic(t *testing.T) {
	nan := math.NaN()
	two := map[string]func(a, b float64) float64{"KLInverse": KLInverse, "Pinsker": Pinsker}
	for name, f := range two {
		for _, v := range [][2]float64{{nan, .1}, {.1, nan}, {nan, nan}, {-1e-300, .1}, {1.0000001, .1}, {.1, -1e-300}, {.1, math.Inf(-1)}} {
			mustPanic(t, name, func() { f(v[0], v[1]) })
		}
	}
	mustPanic(t, "LnXi(0)", func() { LnXi(0) })
	mustPanic(t, "LnXi(-1)", func() { LnXi(-1) })
}

func mustPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s accepts arguments out of range", name)
		}
	}()
	f()
}

// The bound may only grow with the empirical risk and with the exponent: a loss
// or a KL that is rounded up never lowers it.
func TestKLInverseIsMonotone(t *testing.T) {
	values := []float64{0, 1e-12, 1e-6, .01, .1, .3, .5, .9, .999, 1}
	for _, c := range []float64{0, 1e-9, 1e-3, .05, .5, 3} {
		for i := 1; i < len(values); i++ {
			if a, b := KLInverse(values[i-1], c), KLInverse(values[i], c); a > b {
				t.Errorf("c = %g: inverse at %g is %g, at %g it is %g", c, values[i-1], a, values[i], b)
			}
			if a, b := KLInverse(values[i], c), KLInverse(values[i], 2*c+1e-12); a > b {
				t.Errorf("KLInverse(%g, %g) = %g is above %g at twice the exponent", values[i], c, a, b)
			}
		}
	}
}

// FuzzKLInverse holds the inverse against its definition, with kl evaluated
// at twice the precision by a second implementation.
func FuzzKLInverse(f *testing.F) {
	f.Add(.011, .0517)
	f.Add(0., 1e-300)
	f.Add(1-0x1p-53, 36.)
	f.Add(5e-324, 700.)
	f.Fuzz(func(t *testing.T, q, c float64) {
		if !(0 < q && q < 1 && 0 < c && c < 1e4) {
			return
		}
		p := KLInverse(q, c)
		if !(q <= p && p <= 1) {
			t.Fatalf("the inverse of (%g, %g) is %g", q, c, p)
		}
		if p < 1 && slowKL(q, p).Cmp(big.NewFloat(c)) < 0 {
			t.Errorf("kl(%g, %g) does not reach %g", q, p, c)
		}
	})
}

// slowKL is kl(q‖p) with 1,400 bits, where 1−q and 1−p are exact, by halving
// the argument of the logarithm with square roots and Taylor's series.
func slowKL(q, p float64) *big.Float {
	wide := func() *big.Float { return new(big.Float).SetPrec(1400) }
	a, b, one := wide().SetFloat64(q), wide().SetFloat64(p), wide().SetInt64(1)
	part := func(x, y *big.Float) *big.Float {
		return wide().Mul(x, slowLn(wide().Quo(x, y)))
	}
	return wide().Add(part(a, b), part(wide().Sub(one, a), wide().Sub(one, b)))
}

// slowLn sums ln(1+d) = d − d²/2 + d³/3 − … of the 2^k-th root of x.
func slowLn(x *big.Float) *big.Float {
	wide := func() *big.Float { return new(big.Float).SetPrec(1400) }
	root, doublings := wide().Set(x), 0
	for ; doublings < 60; doublings++ {
		root.Sqrt(root)
	}
	d := wide().Sub(root, wide().SetInt64(1))
	sum, power := wide(), wide().SetInt64(-1)
	for k := int64(1); k < 60; k++ {
		power.Mul(power, d).Neg(power)
		sum.Add(sum, wide().Quo(power, wide().SetInt64(k)))
	}
	return sum.SetMantExp(sum, doublings)
}

func TestLnAgainstSecondImplementation(t *testing.T) {
	for _, x := range []float64{5e-324, 1e-300, 1e-9, .5, math.Sqrt2 / 2, math.Nextafter(math.Sqrt2/2, 0), 1, 1 + 0x1p-52, 1 - 0x1p-53, math.Sqrt2, 2, 3, 1e9, math.MaxFloat64} {
		got, want := ln(exact(x)), slowLn(exact(x))
		difference, _ := want.Sub(want, got).Float64()
		size, _ := got.Float64()
		if !(math.Abs(difference) <= 0x1p-240*math.Abs(size)) {
			t.Errorf("ln %g = %g is off by %g", x, size, difference)
		}
	}
}

func TestExpNegUpIsSound(t *testing.T) {
	for _, x := range []float64{0, 1e-300, 0x1p-40, .01, .5, 1, 10, 100, 128} {
		back := ln(expNegUp(exact(x))) // ≥ −x
		if looseness, _ := back.Add(back, exact(x)).Float64(); !(0 < looseness && looseness < 0x1p-180) {
			t.Errorf("ln expNegUp(%g) is above −x by %g", x, looseness)
		}
	}
	for _, x := range []float64{128.5, 1e6, math.MaxFloat64} {
		if expNegUp(exact(x)).Cmp(pow2(-184)) != 0 {
			t.Errorf("expNegUp(%g) is not 2⁻¹⁸⁴", x)
		}
	}
}

func TestRoundingIsOutward(t *testing.T) {
	third := empty().Quo(exact(1), exact(3))
	tiny := pow2(-1080) // below the least float64
	for _, v := range []struct {
		x  *big.Float
		up float64
	}{
		{third, math.Nextafter(1./3, 1)},
		{exact(.25), .25},
		{empty().Neg(third), -1. / 3},
		{tiny, 5e-324},
		{empty().Neg(tiny), 0},
		{pow2(1024), math.Inf(1)},
	} {
		if got := upward(v.x); got != v.up {
			t.Errorf("upward(%g) = %g, want %g", v.x, got, v.up)
		}
	}
}

// bernoulliKL is kl(q‖p) to within half an ulp and 2⁻²²⁰, also where p is 0 or 1.
func bernoulliKL(q, p float64) float64 {
	if p == q {
		return 0
	}
	if p == 0 || p == 1 {
		return math.Inf(1)
	}
	f, _ := relativeEntropy(q, p).Float64()
	return max(f, 0)
}
