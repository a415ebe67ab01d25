package linalg

import (
	"fmt"
	"math"
	"testing"
)

// profile returns f and −2 times its derivative in r², at r².
func profile(f *Profile, r2 float64) (value, slope float64) {
	a := math.Sqrt(f.Stretch * r2)
	switch f {
	case Matern32, plain:
		return (1 + a) * math.Exp(-a), 3 * math.Exp(-a)
	case Matern52:
		return (1 + a + a*a/3) * math.Exp(-a), 5.0 / 3 * (1 + a) * math.Exp(-a)
	default:
		return math.Exp(-r2 / 2), math.Exp(-r2 / 2)
	}
}

// kernelBound returns r² of two rows and the stated error of their kernel value got
// around c; a little more for the test's own rounding.
func kernelBound(f *Profile, x, z, c, inv []float64, variance, got float64) (r2, bound float64) {
	var ax, az float64
	for k, s := range inv {
		t := (x[k] - z[k]) * s
		r2 += t * t
		ax += (x[k] - c[k]) * (x[k] - c[k]) * s * s * f.Stretch
		az += (z[k] - c[k]) * (z[k] - c[k]) * s * s * f.Stretch
	}
	reach, root := math.Sqrt(ax)+math.Sqrt(az), 4.2+float64(len(inv)+1)/2
	if !f.SlopeIsValue {
		root++
	}
	proven := provenErrors[f]
	near := proven.shift*2.01*reach + proven.scale*root
	bound = math.Sqrt(variance*got)*near*unit + got*proven.last*unit + variance*0x1p-400
	want, _ := profile(f, r2)
	own := variance * want * ((f.Stretch*r2+math.Sqrt(f.Stretch*r2))*float64(len(inv)+4) + 8) * unit
	return r2, bound + own
}

// plain is a profile without an assembly entry: Matérn 3/2 again.
var plain = &Profile{Stretch: 3, Steepness: 3, At: Matern32.At}

var allProfiles = map[string]*Profile{
	"squared-exponential": SquaredExponential, "Matérn 3/2": Matern32, "Matérn 5/2": Matern52, "no assembly": plain,
}

// provenErrors are the constants of docs/explanation/theory.md, section 10.
var provenErrors = map[*Profile]struct{ shift, scale, last float64 }{
	SquaredExponential: {1.25, 1.5, 3.4}, Matern32: {0.46, 1.03, 5.4}, Matern52: {0.37, 1.15, 7.4}, plain: {0.46, 1.03, 5.4},
}

func TestKernel(t *testing.T) {
	r := newRand()
	for name, f := range allProfiles {
		for i, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 100} {
			for j, d := range []int{1, 2, 3, 8, 26} {
				m := []int{1, 2, 5, 63, 64, 65, 130}[(i+j)%7]
				what := fmt.Sprintf("%s %d×%d d=%d", name, m, n, d)
				x, z, inv := randMat(r, m, d, 1), randMat(r, n, d, 2), make([]float64, d)
				origin := [][]float64{make([]float64, d), z.Row(0), z.Row(n / 2)}[(i+j)%3]
				for k := range inv {
					inv[k] = math.Exp(r.NormFloat64())
				}
				compute := func(p *Pool, slopes bool) (value, slope Mat) {
					value = randMat(r, m, n, 3)
					if slopes {
						slope = randMat(r, m, n, 3)
					}
					p.Kernel(f, x, z, origin, inv, 2.5, value, slope)
					checkGuards(t, what, value)
					checkGuards(t, what, slope)
					return value, slope
				}
				got := sameInAllSets(t, what, func(p *Pool) Mat { value, _ := compute(p, false); return value })
				also := sameInAllSets(t, what, func(p *Pool) Mat { value, _ := compute(p, true); return value })
				equalBits(t, what+" with slopes", also, got)
				slopes := got
				if !f.SlopeIsValue {
					slopes = sameInAllSets(t, what+", slopes", func(p *Pool) Mat { _, slope := compute(p, true); return slope })
				}
				for i := range m {
					for j, g := range got.Row(i) {
						r2, bound := kernelBound(f, x.Row(i), z.Row(j), origin, inv, 2.5, g)
						want, steep := profile(f, r2)
						if !(math.Abs(g-2.5*want) <= bound) {
							t.Fatalf("%s: element (%d, %d) = %g, want %g ± %g", what, i, j, g, 2.5*want, bound)
						}
						if s := slopes.Row(i)[j]; !(math.Abs(s-2.5*steep) <= 10*bound) {
							t.Fatalf("%s: slope (%d, %d) = %g, want %g ± %g", what, i, j, s, 2.5*steep, 10*bound)
						}
					}
				}
			}
		}
	}
}

// The slopes are −2 times the derivatives of the values in r².
func TestKernelSlopes(t *testing.T) {
	for name, f := range allProfiles {
		const h = 1e-5
		for _, r2 := range []float64{1e-3, 0.1, 1, 7, 40} {
			up, _ := profile(f, r2+h*r2)
			down, _ := profile(f, r2-h*r2)
			_, slope := profile(f, r2)
			if want := -(up - down) / (h * r2); !(math.Abs(slope-want) <= 1e-7) {
				t.Errorf("%s: slope at r² = %g is %g, differences give %g", name, r2, slope, want)
			}
		}
		if _, got := profile(f, 0); math.Abs(got-f.Steepness) > 1e-15 {
			t.Errorf("%s: slope %g at 0, want %g", name, got, f.Steepness)
		}
	}
}

// TestKernelFarAway: points that are near to each other and far from the origin,
// where products would cancel.
func TestKernelFarAway(t *testing.T) {
	const shift, step = 0x1p40, 0x1p-10
	x, z, inv := NewMat(1, 3), NewMat(1, 3), []float64{1024, 512, 256}
	for k := range x.Data {
		x.Data[k], z.Data[k] = shift, shift+step
	}
	withSets(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Close()
		for name, f := range allProfiles {
			out, slope := NewMat(1, 1), NewMat(1, 1)
			p.Kernel(f, x, z, z.Data, inv, 1, out, Mat{})
			r2, bound := kernelBound(f, x.Data, z.Data, z.Data, inv, 1, out.Data[0])
			if want, _ := profile(f, r2); !(bound < 1e-14 && math.Abs(out.Data[0]-want) <= bound) {
				t.Errorf("%s far away = %g, want %g ± %g", name, out.Data[0], want, bound)
			}
			p.Kernel(f, x, x, x.Data, inv, 3, out, slope)
			if got := out.Data[0]; got != 3 {
				t.Errorf("%s of a point with itself = %g, want 3", name, got)
			}
			if got := slope.Data[0]; !f.SlopeIsValue && got != 3*f.Steepness {
				t.Errorf("slope of %s at a point = %g, want %g", name, got, 3*f.Steepness)
			}
		}
	})
}

// TestKernelVanishes: with the distance, an element falls to 0 where kernelMin says,
// and is never a subnormal number.
func TestKernelVanishes(t *testing.T) {
	const n = 4096
	for name, f := range allProfiles {
		edge := math.Sqrt(-2 * scalars[kernelMin])
		if !f.SlopeIsValue {
			edge = -scalars[kernelMin] / math.Sqrt(f.Stretch)
		}
		x, z := NewMat(1, 1), NewMat(n, 1)
		for j := range n {
			z.Data[j] = edge + (float64(j)-n/2)*0x1p-12
		}
		z.Data[n-1], z.Data[n-2], z.Data[n-3] = 1e5, 1e10, 1e300
		got := sameInAllSets(t, "vanishing "+name, func(p *Pool) Mat {
			out := NewMat(1, n)
			p.Kernel(f, x, z, nil, []float64{1}, 1, out, Mat{})
			return out
		}).Data
		for j, k := range got {
			if k != 0 && k < 0x1p-1022 || j > 0 && k > got[j-1] || j != n/2 && (k == 0) != (j >= n/2) {
				t.Fatalf("%s at distance %g is %g", name, z.Data[j], k)
			}
		}
	}
	if got := exp(scalars[kernelMin]); got != scalars[kernelFloor] {
		t.Errorf("exp(%g) = %x, the constant is %x", scalars[kernelMin], got, scalars[kernelFloor])
	}
}

func TestKernelSpecialValues(t *testing.T) {
	withSets(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Close()
		for name, f := range allProfiles {
			x, z, out, slope := NewMat(4, 2), NewMat(20, 2), NewMat(4, 20), NewMat(4, 20)
			x.Row(1)[0], x.Row(2)[1], x.Row(3)[0] = math.NaN(), math.Inf(1), 1e200
			p.Kernel(f, x, z, nil, []float64{1, 1}, 1e5, out, slope)
			if f.SlopeIsValue {
				slope = out
			}
			for i, want := range []float64{1e5, math.NaN(), 0, 0} {
				for j, got := range out.Row(i) {
					if s := slope.Row(i)[j]; !sameBits(got, want) || !sameBits(s, f.Steepness*want) {
						t.Fatalf("%s: element (%d, %d) = %g, slope %g, want %g", name, i, j, got, s, want)
					}
				}
			}
			z.Row(0)[0], z.Row(0)[1] = math.NaN(), math.Inf(1)
			p.Kernel(f, x.Slice(0, 1, 0, 2), z, nil, []float64{1, 1}, 1e5, out.Slice(0, 1, 0, 20), Mat{})
			if got := out.Row(0); !math.IsNaN(got[0]) || got[1] != 1e5 || got[19] != 1e5 {
				t.Errorf("%s next to a row of NaN = %g", name, got)
			}
		}
	})
}

// TestKernelAlone: an element depends on its two rows and the origin alone,
// and the block of a set with itself is symmetric to the bit.
func TestKernelAlone(t *testing.T) {
	r := newRand()
	x, inv := randMat(r, 150, 5, 1), []float64{1, 2, 0.5, 0.3, 0.7}
	withSets(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		for name, f := range allProfiles {
			whole := NewMat(150, 150)
			p.Kernel(f, x, x, x.Row(0), inv, 1.3, whole, Mat{})
			equalBits(t, name+", transposed", transposed(whole, true), whole)
			for _, i := range []int{0, 63, 64, 149} {
				for _, j := range []int{0, 7, 8, 143, 149} {
					one := NewMat(1, 1)
					p.Kernel(f, x.Slice(i, i+1, 0, 5), x.Slice(j, j+1, 0, 5), x.Row(0), inv, 1.3, one, Mat{})
					equalBits(t, fmt.Sprintf("%s, element (%d, %d)", name, i, j), one, whole.Slice(i, i+1, j, j+1))
				}
			}
		}
	})
}
