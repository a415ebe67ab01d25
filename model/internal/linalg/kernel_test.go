package linalg

import (
	"fmt"
	"math"
	"testing"
)

// kernelBound returns r² of two rows and the stated error of their kernel value around
// c; twice that for the test's own rounding.
func kernelBound(x, z, c, inv []float64, variance float64) (r2, bound float64) {
	move := 0.0
	for k, s := range inv {
		t := (x[k] - z[k]) * s
		r2 += t * t
		move += math.Abs(t) * gamma(4) * (math.Abs(x[k]-c[k]) + math.Abs(z[k]-c[k])) * s
	}
	bound = math.Exp(-0.5*r2)*(gamma(len(inv)+2)*r2/2+4*unit+move) + 0x1p-497
	return r2, 2 * variance * bound
}

func TestSEKernel(t *testing.T) {
	r := newRand()
	for i, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 100} {
		for j, d := range []int{1, 2, 3, 8, 26} {
			m := []int{1, 2, 5, 63, 64, 65, 130}[(i+j)%7]
			what := fmt.Sprintf("kernel %d×%d d=%d", m, n, d)
			x, z, inv := randMat(r, m, d, 1), randMat(r, n, d, 2), make([]float64, d)
			for k := range inv {
				inv[k] = math.Exp(r.NormFloat64())
			}
			got := sameInAllSets(t, what, func(p *Pool) Mat {
				out := randMat(r, m, n, 3)
				p.SEKernel(x, z, inv, 2.5, out)
				checkGuards(t, what, out)
				return out
			})
			for i := range m {
				for j, g := range got.Row(i) {
					r2, bound := kernelBound(x.Row(i), z.Row(j), z.Row(0), inv, 2.5)
					want := 2.5 * math.Exp(-0.5*r2)
					if !(math.Abs(g-want) <= bound) {
						t.Fatalf("%s: element (%d, %d) = %g, want %g ± %g", what, i, j, g, want, bound)
					}
				}
			}
		}
	}
}

// TestSEKernelFarAway: points that are near to each other and far from the origin,
// where products would cancel.
func TestSEKernelFarAway(t *testing.T) {
	const shift, step = 0x1p40, 0x1p-10
	x, z, inv := NewMat(1, 3), NewMat(1, 3), []float64{1024, 512, 256}
	for k := range x.Data {
		x.Data[k], z.Data[k] = shift, shift+step
	}
	withSets(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Close()
		out := NewMat(1, 1)
		p.SEKernel(x, z, inv, 1, out)
		r2, bound := kernelBound(x.Data, z.Data, z.Data, inv, 1)
		if want := math.Exp(-0.5 * r2); !(bound < 1e-14 && math.Abs(out.Data[0]-want) <= bound) {
			t.Errorf("kernel far away = %g, want %g ± %g", out.Data[0], want, bound)
		}
		p.SEKernel(x, x, inv, 3, out)
		if got := out.Data[0]; got != 3 {
			t.Errorf("kernel of a point with itself = %g, want 3", got)
		}
	})
}

// TestSEKernelVanishes: with the distance, an element falls to 0 where kernelMin says,
// and is never a subnormal number.
func TestSEKernelVanishes(t *testing.T) {
	const n = 4096
	x, z := NewMat(1, 1), NewMat(n, 1)
	for j := range n {
		z.Data[j] = math.Sqrt(-2*scalars[kernelMin]) + (float64(j)-n/2)*0x1p-12
	}
	z.Data[n-1], z.Data[n-2], z.Data[n-3] = 1e5, 1e10, 1e300
	got := sameInAllSets(t, "vanishing kernel", func(p *Pool) Mat {
		out := NewMat(1, n)
		p.SEKernel(x, z, []float64{1}, 1, out)
		return out
	}).Data
	for j, k := range got {
		if k != 0 && k < 0x1p-1022 || j > 0 && k > got[j-1] || (k == 0) != (j >= n/2) {
			t.Fatalf("kernel at distance %g is %g", z.Data[j], k)
		}
	}
	if got := exp(scalars[kernelMin]); got != scalars[kernelFloor] {
		t.Errorf("exp(%g) = %x, the constant is %x", scalars[kernelMin], got, scalars[kernelFloor])
	}
}

func TestSEKernelSpecialValues(t *testing.T) {
	withSets(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Close()
		x, z, out := NewMat(4, 2), NewMat(20, 2), NewMat(4, 20)
		x.Row(1)[0], x.Row(2)[1], x.Row(3)[0] = math.NaN(), math.Inf(1), 1e200
		p.SEKernel(x, z, []float64{1, 1}, 1e5, out)
		for i, want := range []float64{1e5, math.NaN(), 0, 0} {
			for j, got := range out.Row(i) {
				if !sameBits(got, want) {
					t.Fatalf("element (%d, %d) = %g, want %g", i, j, got, want)
				}
			}
		}
		z.Row(0)[0], z.Row(0)[1] = math.NaN(), math.Inf(1) // which only row 0 is to suffer from
		p.SEKernel(x.Slice(0, 1, 0, 2), z, []float64{1, 1}, 1e5, out.Slice(0, 1, 0, 20))
		if got := out.Row(0); !math.IsNaN(got[0]) || got[1] != 1e5 || got[19] != 1e5 {
			t.Errorf("kernel beside a row of NaN = %g", got)
		}
		p.SEKernel(NewMat(2, 0), NewMat(3, 0), nil, 7, out.Slice(0, 2, 0, 3))
		if got := out.Row(1)[2]; got != 7 {
			t.Errorf("kernel without features = %g, want 7", got)
		}
	})
}

// TestSEKernelAlone: an element depends on its two rows and the first row of z alone,
// and the block of a set with itself is symmetric to the bit.
func TestSEKernelAlone(t *testing.T) {
	r := newRand()
	x, inv := randMat(r, 150, 5, 1), []float64{1, 2, 0.5, 0.3, 0.7}
	withSets(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		whole := NewMat(150, 150)
		p.SEKernel(x, x, inv, 1.3, whole)
		equalBits(t, "transposed", transposed(whole, true), whole)
		for _, i := range []int{0, 63, 64, 149} {
			for _, j := range []int{0, 7, 8, 143, 149} {
				one, z := NewMat(1, 2), NewMat(2, 5)
				copy(z.Row(0), x.Row(0))
				copy(z.Row(1), x.Row(j))
				p.SEKernel(x.Slice(i, i+1, 0, 5), z, inv, 1.3, one)
				equalBits(t, fmt.Sprintf("element (%d, %d)", i, j), one.Slice(0, 1, 1, 2), whole.Slice(i, i+1, j, j+1))
			}
		}
	})
}
