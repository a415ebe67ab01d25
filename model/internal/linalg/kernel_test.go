package linalg

import (
	"fmt"
	"math"
	"testing"
)

// kernelBounds returns r² of two rows and the stated errors of their kernel value got
// around c; a little more for the test's own rounding.
func kernelBounds(x, z, c, inv []float64, variance, got float64) (r2, bound, near float64) {
	var ax, az float64
	for k, s := range inv {
		t := (x[k] - z[k]) * s
		r2 += t * t
		ax += (x[k] - c[k]) * (x[k] - c[k]) * s * s / 2
		az += (z[k] - c[k]) * (z[k] - c[k]) * s * s / 2
	}
	reach, root := math.Sqrt(ax)+math.Sqrt(az), 4.2+float64(len(inv)+1)/2
	bound = variance * ((0.87*2.01*reach+0.75*root+3.3)*unit + 0x1p-400)
	near = math.Sqrt(variance*got)*(1.25*2.01*reach+1.5*root)*unit + got*3.4*unit + variance*0x1p-400
	own := variance * math.Exp(-0.5*r2) * (r2*float64(len(inv)+4) + 4) * unit
	return r2, bound + own, near + own
}

func TestSEKernel(t *testing.T) {
	r := newRand()
	for i, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 100} {
		for j, d := range []int{1, 2, 3, 8, 26} {
			m := []int{1, 2, 5, 63, 64, 65, 130}[(i+j)%7]
			what := fmt.Sprintf("kernel %d×%d d=%d", m, n, d)
			x, z, inv := randMat(r, m, d, 1), randMat(r, n, d, 2), make([]float64, d)
			origin := [][]float64{make([]float64, d), z.Row(0), z.Row(n / 2)}[(i+j)%3]
			for k := range inv {
				inv[k] = math.Exp(r.NormFloat64())
			}
			got := sameInAllSets(t, what, func(p *Pool) Mat {
				out := randMat(r, m, n, 3)
				p.SEKernel(x, z, origin, inv, 2.5, out)
				checkGuards(t, what, out)
				return out
			})
			for i := range m {
				for j, g := range got.Row(i) {
					r2, bound, near := kernelBounds(x.Row(i), z.Row(j), origin, inv, 2.5, g)
					want := 2.5 * math.Exp(-0.5*r2)
					if !(math.Abs(g-want) <= min(bound, near)) {
						t.Fatalf("%s: element (%d, %d) = %g, want %g ± %g, %g", what, i, j, g, want, bound, near)
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
		p.SEKernel(x, z, z.Data, inv, 1, out)
		r2, bound, _ := kernelBounds(x.Data, z.Data, z.Data, inv, 1, out.Data[0])
		if want := math.Exp(-0.5 * r2); !(bound < 1e-14 && math.Abs(out.Data[0]-want) <= bound) {
			t.Errorf("kernel far away = %g, want %g ± %g", out.Data[0], want, bound)
		}
		p.SEKernel(x, x, x.Data, inv, 3, out)
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
		p.SEKernel(x, z, nil, []float64{1}, 1, out)
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
		p.SEKernel(x, z, nil, []float64{1, 1}, 1e5, out)
		for i, want := range []float64{1e5, math.NaN(), 0, 0} {
			for j, got := range out.Row(i) {
				if !sameBits(got, want) {
					t.Fatalf("element (%d, %d) = %g, want %g", i, j, got, want)
				}
			}
		}
		z.Row(0)[0], z.Row(0)[1] = math.NaN(), math.Inf(1)
		p.SEKernel(x.Slice(0, 1, 0, 2), z, nil, []float64{1, 1}, 1e5, out.Slice(0, 1, 0, 20))
		if got := out.Row(0); !math.IsNaN(got[0]) || got[1] != 1e5 || got[19] != 1e5 {
			t.Errorf("kernel beside a row of NaN = %g", got)
		}
		p.SEKernel(NewMat(2, 0), NewMat(3, 0), nil, nil, 7, out.Slice(0, 2, 0, 3))
		if got := out.Row(1)[2]; got != 7 {
			t.Errorf("kernel without features = %g, want 7", got)
		}
	})
}

// TestSEKernelAlone: an element depends on its two rows and the origin alone,
// and the block of a set with itself is symmetric to the bit.
func TestSEKernelAlone(t *testing.T) {
	r := newRand()
	x, inv := randMat(r, 150, 5, 1), []float64{1, 2, 0.5, 0.3, 0.7}
	withSets(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		whole := NewMat(150, 150)
		p.SEKernel(x, x, x.Row(0), inv, 1.3, whole)
		equalBits(t, "transposed", transposed(whole, true), whole)
		for _, i := range []int{0, 63, 64, 149} {
			for _, j := range []int{0, 7, 8, 143, 149} {
				one := NewMat(1, 1)
				p.SEKernel(x.Slice(i, i+1, 0, 5), x.Slice(j, j+1, 0, 5), x.Row(0), inv, 1.3, one)
				equalBits(t, fmt.Sprintf("element (%d, %d)", i, j), one, whole.Slice(i, i+1, j, j+1))
			}
		}
	})
}
