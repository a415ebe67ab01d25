package loss_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/loss"
)

const offset = 0.37

func mustNew(t testing.TB, kind loss.Kind, eps float64) loss.Loss {
	t.Helper()
	l, err := loss.New(kind, eps, 0.7*eps, 1.4*eps, offset)
	fatal.If(t, err)
	return l
}

var kinds = loss.Kinds()

// Values computed with 60 digits.
func TestGoldenValues(t *testing.T) {
	for _, c := range []struct {
		kind         loss.Kind
		y, m, s, eps float64
		want         float64
	}{
		{loss.ZeroOne, .3, .1, .4, .6, .181405385879636},
		{loss.Squared, .3, .1, .4, .6, .397099097923627},
		{loss.Exponential, .3, .1, .4, .6, .313959018175557},
		{loss.ZeroOne, 1.2, -.5, .3, .6, .999877133610044},
		{loss.Squared, 1.2, -.5, .3, .6, .999973675533584},
		{loss.Exponential, 1.2, -.5, .3, .6, .996130323649912},
		{loss.Squared, 0, 0, .05, .6, .00694444444444445},
		{loss.Exponential, 0, 0, .05, .6, .00687293367715835},
	} {
		l := mustNew(t, c.kind, c.eps)
		if got := l.Expected(c.y, c.m, c.s*c.s); !(math.Abs(got-c.want) <= 2e-15*(1+c.want)) {
			t.Errorf("%s.Expected(%g, %g, %g²) = %.15g, want %.15g", c.kind, c.y, c.m, c.s, got, c.want)
		}
	}
}

// The expectation is the integral of Point.
func TestExpectedIsTheIntegralOfPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, kind := range kinds {
		for range 40 {
			eps := 0.1 + rng.Float64()
			l := mustNew(t, kind, eps)
			y, m, s := 2*rng.NormFloat64(), 2*rng.NormFloat64(), 0.1+rng.Float64()
			size := math.Abs(y + offset)
			cuts := []float64{
				m - 12*s, y - size, y - eps*size, y - eps, y - 0.7*eps, y, y + 1.4*eps, y + eps, y + eps*size, y + size, m + 12*s,
			}
			want := 0.0
			density := func(v float64) float64 {
				z := (v - m) / s
				return l.Point(y, v) * math.Exp(-z*z/2) / (s * math.Sqrt(2*math.Pi))
			}
			lo := cuts[0]
			for lo < cuts[len(cuts)-1] {
				hi := math.Inf(1)
				for _, c := range cuts {
					if c > lo {
						hi = math.Min(hi, c)
					}
				}
				want += quad.Fixed(density, math.Nextafter(lo, hi), math.Nextafter(hi, lo), 200, quad.Legendre{}, 0)
				lo = hi
			}
			if got := l.Expected(y, m, s*s); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s(ε=%g).Expected(%g, %g, %g²) = %.15g, quadrature gives %.15g", kind, eps, y, m, s, got, want)
			}
		}
	}
}

func TestGradientAgreesWithDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, kind := range kinds {
		for range 100 {
			l := mustNew(t, kind, 0.1+rng.Float64())
			y, m, v := 2*rng.NormFloat64(), 2*rng.NormFloat64(), 0.05+rng.Float64()
			e, dm, dv := l.Gradient(y, m, v)
			if want := l.Expected(y, m, v); !(math.Abs(e-want) <= 1e-15) {
				t.Errorf("%s.Gradient(%g, %g, %g): value %.17g, Expected gives %.17g", kind, y, m, v, e, want)
			}
			diff := func(f func(h float64) float64) float64 {
				const h = 1e-3
				return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
			}
			wantM := diff(func(h float64) float64 { return l.Expected(y, m+h, v) })
			wantV := diff(func(h float64) float64 { return l.Expected(y, m, v+h) })
			// h⁴·(5th derivative)/30 is below 1e-6 for s ≥ 0.22, but for v.
			if !(math.Abs(dm-wantM) <= 1e-6*(1+math.Abs(dm))) || !(math.Abs(dv-wantV) <= 5e-5*(1+math.Abs(dv))) {
				t.Errorf("%s.Gradient(%g, %g, %g) = %.9g, %.9g, differences give %.9g, %.9g", kind, y, m, v, dm, dv, wantM, wantV)
			}
		}
	}
}

// Both implementations agree to rounding, tails and tiny variances included.
func TestReferenceAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(loss.Precision).SetFloat64(x) }
	for _, kind := range kinds {
		for i := range 120 {
			l := mustNew(t, kind, 0.1+rng.Float64())
			y, m := 2*rng.NormFloat64(), 2*rng.NormFloat64()
			v := math.Exp(8*rng.NormFloat64() - 4)
			if i%10 == 0 {
				v = []float64{1, 1.5, 4}[i/10%3] * loss.MinVariance
			}
			want, _ := loss.Reference(l, num(y), num(m), num(v)).Float64()
			got := l.Expected(y, m, v)
			// Squared and relative subtract terms of size (g²+s²)/ε².
			if !(math.Abs(got-want) <= 1e-12*(1+(y-m)*(y-m)+math.Sqrt(math.Abs(v)))) {
				t.Errorf("%s.Expected(%g, %g, %g) = %.17g, reference %.17g", kind, y, m, v, got, want)
			}
		}
	}
}

// The upper tail is computed as Φ(−C): a loss of 1e-30 is not rounded to 0.
func TestUpperTailKeepsItsDigits(t *testing.T) {
	for _, kind := range []loss.Kind{loss.ZeroOne, loss.Band} {
		l := mustNew(t, kind, 1)
		for _, side := range []float64{-1, 1} {
			edge := 1.0
			if kind == loss.Band {
				edge = map[float64]float64{-1: 0.7, 1: 1.4}[side]
			}
			m, s := side*edge/2, edge/2/11.5 // the near edge is 11.5 s away
			want := 0.5 * math.Erfc(11.5/math.Sqrt2)
			if got := l.Expected(0, m, s*s); !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("%s.Expected(0, %g, %g²) = %g, want %g", kind, m, s, got, want)
			}
		}
	}
}

// Without variance the loss is that of the mean, and the boundary costs 1.
func TestBoundaryCostsOne(t *testing.T) {
	for _, kind := range []loss.Kind{loss.ZeroOne, loss.Band} {
		l := mustNew(t, kind, 0.5)
		hi := 0.5
		if kind == loss.Band {
			hi = 1.4 * 0.5
		}
		for _, v := range []float64{0, -1e-12, 1e-15} {
			for _, c := range []struct{ m, want float64 }{
				{hi, 1}, {math.Nextafter(hi, 9), 1}, {hi + 1e-9, 1}, {2, 1}, {0, 0},
			} {
				if got := l.Expected(0, c.m, v); got != c.want {
					t.Errorf("%s.Expected(0, %.17g, %g) = %g, want %g", kind, c.m, v, got, c.want)
				}
			}
		}
		if got := l.Point(0, hi); got != 1 {
			t.Errorf("%s.Point on the boundary = %g, want 1", kind, got)
		}
	}
}

// Variances below MinVariance, rounding's negative ones included, are raised:
// just inside the boundary that costs a part of the loss, never NaN or 0.
func TestVarianceIsClamped(t *testing.T) {
	s := math.Sqrt(loss.MinVariance)
	for _, kind := range kinds {
		l := mustNew(t, kind, 0.5)
		for _, v := range []float64{0, -1e-10, 1e-17, math.Inf(-1)} {
			m := 0.35 - s // inside by one clamped standard deviation (band: below 0.35)
			want := l.Expected(0, -m, loss.MinVariance)
			if got := l.Expected(0, -m, v); got != want || math.IsNaN(got) {
				t.Errorf("%s.Expected(0, %g, %g) = %g, want the value at MinVariance, %g", kind, -m, v, got, want)
			}
		}
	}
	l := mustNew(t, loss.Band, 0.5)
	if got, want := l.Expected(0, -(0.35-s), 0), 0.5*math.Erfc(1/math.Sqrt2); !(math.Abs(got-want) <= 1e-6) {
		t.Errorf("band.Expected one clamped deviation inside = %g, want %g", got, want)
	}
}

func TestLossesStayInTheUnitInterval(t *testing.T) {
	huge := []float64{0, 1e-300, 1e-9, 1, 1e9, 1e150}
	for _, kind := range kinds {
		l := mustNew(t, kind, 0.6)
		for _, y := range huge {
			for _, m := range huge {
				for _, v := range huge {
					if e := l.Expected(y, m, v); !(0 <= e && e <= 1) {
						t.Errorf("%s.Expected(%g, %g, %g) = %g", kind, y, m, v, e)
					}
					if e := l.Point(y, m); !(0 <= e && e <= 1) {
						t.Errorf("%s.Point(%g, %g) = %g", kind, y, m, e)
					}
				}
			}
		}
	}
}

// NaN is never a small loss.
func TestNaNStaysNaN(t *testing.T) {
	nan := math.NaN()
	for _, kind := range kinds {
		l := mustNew(t, kind, 0.6)
		for _, a := range [][3]float64{{nan, 0, 1}, {0, nan, 1}, {0, 0, nan}, {nan, 0, 0}, {0, nan, 0}, {-offset, nan, 1}} {
			if e := l.Expected(a[0], a[1], a[2]); !math.IsNaN(e) {
				t.Errorf("%s.Expected%v = %g, want NaN", kind, a, e)
			}
		}
		if e := l.Point(0, nan); !math.IsNaN(e) {
			t.Errorf("%s.Point(0, NaN) = %g", kind, e)
		}
	}
}

// The relative losses do not change under y → a·y when the scale follows; a
// target of zero costs 1, but for a lower bound where it is hit.
func TestRelativeLossIsInRawUnits(t *testing.T) {
	// Raw: centre 3, scale 2, y = 4, prediction 5 ± 0.6: loss of |5−4|/4.
	for _, a := range []float64{1, 1000, -7} {
		centre, scale := 3*a, 2*math.Abs(a)
		l, err := loss.New(loss.Relative, 0, 0, 0, centre/scale)
		fatal.If(t, err)
		if got := l.Point((4*a-centre)/scale, (5*a-centre)/scale); !(math.Abs(got-0.25) <= 1e-14) {
			t.Errorf("relative loss at scale %g = %g, want 0.25", a, got)
		}
		for epsilon, want := range map[float64]float64{0.24: 1, 0.26: 0, 2: 0} {
			l, err := loss.New(loss.RelativeZeroOne, epsilon, 0, 0, centre/scale)
			fatal.If(t, err)
			if got := l.Point((4*a-centre)/scale, (5*a-centre)/scale); got != want {
				t.Errorf("a quarter off at scale %g loses %g within %g, want %g", a, got, epsilon, want)
			}
		}
	}
	for _, kind := range []loss.Kind{loss.Relative, loss.RelativeZeroOne} {
		l := mustNew(t, kind, 0.2)
		if e, p := l.Expected(-offset, -offset, 0.01), l.Point(-offset, -offset); e != 1 || p != 1 {
			t.Errorf("%s loss of a zero target = %g, of its exact prediction %g, want 1", kind, e, p)
		}
	}
	raw, err := loss.New(loss.RelativeZeroOne, 0.1, 0, 0, 0)
	fatal.If(t, err)
	for _, c := range []struct{ y, f, want float64 }{{0, 0, 0}, {0, 1e-300, 1}, {-30, -33, 0}, {30, 26.9, 1}} {
		if got := raw.Least(c.y, c.f); got != c.want {
			t.Errorf("Least(%g, %g) = %g, want %g", c.y, c.f, got, c.want)
		}
	}
}

// Least is a lower bound on Point, and near it but on an edge, where it is 0.
func TestLeastIsALittleBelowPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, kind := range kinds {
		for i := range 1000 {
			l := mustNew(t, kind, math.Exp(rng.NormFloat64()))
			y := rng.NormFloat64()
			f := y + 2*rng.NormFloat64()*[]float64{1, 1e-3, 1e-9, 30}[i%4]
			if least, point := l.Least(y, f), l.Point(y, f); !(0 <= least && least <= point && point-least <= 0x1p-47) {
				t.Errorf("%s.Least(%g, %g) = %.17g, Point is %.17g", kind, y, f, least, point)
			}
		}
	}
	for _, kind := range []loss.Kind{loss.ZeroOne, loss.Band} {
		if l, err := loss.New(kind, 0.3, 0.3, 0.3, 0); err != nil || l.Least(0.1, 0.1+0.3) != 0 || l.Least(0.1, 0.41) != 1 {
			t.Errorf("%s.Least on the edge is not 0, or beyond it not 1 (%v)", kind, err)
		}
	}
}

func TestNewRefusesBadParameters(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		kind                     loss.Kind
		eps, below, above, shift float64
	}{
		{"huber", 1, 1, 1, 0},
		{loss.ZeroOne, 0, 1, 1, 0},
		{loss.ZeroOne, nan, 1, 1, 0},
		{loss.Squared, -1, 1, 1, 0},
		{loss.Exponential, inf, 1, 1, 0},
		{loss.Band, 1, 0, 1, 0},
		{loss.Band, 1, 1, nan, 0},
		{loss.Relative, 0, 0, 0, nan},
		{loss.RelativeZeroOne, 0, 1, 1, 0},
		{loss.RelativeZeroOne, nan, 1, 1, 0},
		{loss.RelativeZeroOne, 0.1, 1, 1, inf},
	} {
		if _, err := loss.New(c.kind, c.eps, c.below, c.above, c.shift); err == nil {
			t.Errorf("New(%q, %g, %g, %g, %g) succeeded", c.kind, c.eps, c.below, c.above, c.shift)
		}
	}
}
