package linalg

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/allocated"
)

// Sizes around the tiles (4, 8, 12, 24), the chunks of rows (96, 256) and the block of k
// (384).
var (
	smallSizes = []int{1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 31, 47, 48, 49}
	depths     = []int{1, 2, 3, 4, 5, 7, 8, 9, 383, 384, 385, 769}
	shapes     = [][3]int{{97, 50, 386}, {191, 49, 800}, {193, 97, 13}, {50, 100, 386}, {130, 70, 33}, {200, 2050, 3}, {515, 40, 50}}
)

// within fails unless |got − (alpha·sum + beta·c)| ≤ γ_{k+3}·(|alpha|·mass + |beta·c|).
func within(t *testing.T, what string, got, sum, mass, c Mat, alpha, beta float64, k int) {
	t.Helper()
	for i := range sum.Rows {
		for j, s := range sum.Row(i) {
			want, bound := alpha*s, math.Abs(alpha)*mass.Row(i)[j]
			if beta != 0 {
				want += beta * c.Row(i)[j]
				bound += math.Abs(beta * c.Row(i)[j])
			}
			bound *= 2 * gamma(k+3)
			if g := got.Row(i)[j]; !(math.Abs(g-want) <= bound) {
				t.Fatalf("%s: element (%d, %d) = %g, want %g ± %g", what, i, j, g, want, bound)
			}
		}
	}
}

func testGemm(t *testing.T, m, n, k int, tA, tB bool, alpha, beta float64) {
	t.Helper()
	what := fmt.Sprintf("gemm %d×%d×%d tA=%v tB=%v alpha=%g beta=%g", m, n, k, tA, tB, alpha, beta)
	r := newRand()
	am, ak := m, k
	if tA {
		am, ak = k, m
	}
	bk, bn := k, n
	if tB {
		bk, bn = n, k
	}
	a, b, c := randMat(r, am, ak, 1), randMat(r, bk, bn, 2), randMat(r, m, n, 3)
	got := sameInAllSets(t, what, func(p *Pool) Mat {
		out := cloneWide(c)
		if beta == 0 {
			out.Data[0] = math.NaN()
		}
		p.Gemm(tA, tB, alpha, a, b, beta, out)
		checkGuards(t, what, out)
		return out
	})
	sum, mass := refProduct(transposed(a, tA), transposed(b, tB))
	within(t, what, got, sum, mass, c, alpha, beta, k)
}

func TestGemmSizes(t *testing.T) {
	for i, m := range smallSizes {
		for j, n := range smallSizes {
			testGemm(t, m, n, depths[(i+j)%len(depths)], i%2 == 0, j%2 == 0, 1, float64((i+j)%3)-1)
		}
	}
}

func TestGemmDepthsAndTransposes(t *testing.T) {
	for _, k := range depths {
		for mask := range 4 {
			testGemm(t, 26, 29, k, mask&1 != 0, mask&2 != 0, -0.7, 0.3)
		}
	}
	for i, s := range shapes {
		testGemm(t, s[0], s[1], s[2], i%2 == 0, i%3 == 0, 2, 1)
	}
}

func TestGemmEmpty(t *testing.T) {
	p := NewPool(1)
	defer p.Close()
	c := NewMat(2, 2)
	c.Data[0] = 3
	p.Gemm(false, false, 1, NewMat(2, 0), NewMat(0, 2), 2, c)
	if c.Data[0] != 6 {
		t.Errorf("gemm with k = 0, beta = 2: %v, want 6", c.Data[0])
	}
	p.Gemm(false, false, 1, NewMat(2, 0), NewMat(0, 2), 0, c)
	if c.Data[0] != 0 {
		t.Errorf("gemm with k = 0, beta = 0: %v, want 0", c.Data[0])
	}
	p.Gemm(false, false, 1, NewMat(0, 3), NewMat(3, 2), 0, NewMat(0, 2))
	p.Syrk(false, 1, NewMat(0, 3), 0, NewMat(0, 0))
}

// TestRowsAlone: a row of a product has the same bits, whatever stands around it.
func TestRowsAlone(t *testing.T) {
	r := newRand()
	a, b := randMat(r, 205, 300, 1), randMat(r, 300, 61, 0)
	withSets(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		whole := NewMat(a.Rows, b.Cols)
		p.Gemm(false, false, 1.5, a, b, 0, whole)
		for _, rows := range []int{1, 2, 3, 5, 8, 13, 50, 100} {
			for i0 := 0; i0+rows <= a.Rows; i0 += 37 {
				part := NewMat(rows, b.Cols)
				p.Gemm(false, false, 1.5, a.Slice(i0, i0+rows, 0, a.Cols), b, 0, part)
				equalBits(t, fmt.Sprintf("rows %d..%d", i0, i0+rows), part, whole.Slice(i0, i0+rows, 0, b.Cols))
			}
		}
		for _, j := range []int{0, 1, 23, 24, 60} {
			col := NewMat(a.Rows, 1)
			p.Gemm(false, false, 1.5, a, b.Slice(0, b.Rows, j, j+1), 0, col)
			equalBits(t, fmt.Sprintf("column %d", j), col, whole.Slice(0, a.Rows, j, j+1))
		}
	})
}

func TestSyrk(t *testing.T) {
	sizes := append([]int{95, 96, 97, 130, 200}, smallSizes...)
	for i, n := range sizes {
		k := depths[i%len(depths)]
		for _, tA := range []bool{false, true} {
			r := newRand()
			a := randMat(r, n, k, 1)
			if tA {
				a = randMat(r, k, n, 1)
			}
			w := make([]float64, k)
			for j := range w {
				w[j] = r.NormFloat64()
			}
			testSyrk(t, a, tA, w, float64(i%3)-1)
		}
	}
}

func testSyrk(t *testing.T, a Mat, tA bool, w []float64, beta float64) {
	t.Helper()
	left := transposed(a, tA)
	n, k := left.Rows, left.Cols
	what := fmt.Sprintf("syrk n=%d k=%d tA=%v beta=%g", n, k, tA, beta)
	c := randMat(newRand(), n, n, 2)
	run := func(f func(p *Pool, out Mat)) Mat {
		return sameInAllSets(t, what, func(p *Pool) Mat {
			out := cloneWide(c)
			f(p, out)
			checkGuards(t, what, out)
			for i := range n {
				for j := i + 1; j < n; j++ {
					if out.Row(i)[j] != c.Row(i)[j] {
						t.Fatalf("%s: wrote above the diagonal at (%d, %d)", what, i, j)
					}
				}
			}
			return lowerOnly(out)
		})
	}
	got := run(func(p *Pool, out Mat) { p.Syrk(tA, 0.5, a, beta, out) })
	sum, mass := refProduct(left, transposed(left, true))
	within(t, what, got, lowerOnly(sum), mass, lowerOnly(c), 0.5, beta, k)
	if !tA {
		return
	}
	got = run(func(p *Pool, out Mat) { p.SyrkWeighted(w, a, beta, out) })
	weighted := clone(a)
	for i, x := range w {
		for j := range weighted.Row(i) {
			weighted.Row(i)[j] *= x
		}
	}
	sum, mass = refProduct(transposed(weighted, true), clone(a))
	within(t, what+" weighted", got, lowerOnly(sum), mass, lowerOnly(c), 1, beta, k)
}

func TestTrmm(t *testing.T) {
	for i, n := range append([]int{289, 390}, smallSizes...) {
		m := smallSizes[(7*i)%len(smallSizes)]
		r := newRand()
		b, c := randMat(r, m, n, 1), randMat(r, n, n, 1)
		for _, trans := range []bool{false, true} {
			what := fmt.Sprintf("trmm %d×%d trans=%t", m, n, trans)
			got := sameInAllSets(t, what, func(p *Pool) Mat {
				out := randMat(r, m, n, 2)
				if trans {
					p.trmmRightLowerTrans(c, b, out)
				} else {
					p.TrmmRightLower(c, b, out)
				}
				checkGuards(t, what, out)
				return out
			})
			sum, mass := refProduct(clone(b), transposed(lowerOnly(c), trans))
			within(t, what, got, sum, mass, sum, 1, 0, n)
		}
	}
}

func TestCongruence(t *testing.T) {
	sizes := []int{1, 5, 24, 49, 130, 389}
	if testing.Short() { // which the race detector runs with
		sizes = sizes[:5]
	}
	for _, n := range sizes {
		r := newRand()
		w, a := lowerOnly(randMat(r, n, n, 1)), randMat(r, n, n, 2)
		for i := range n {
			for j := range i {
				a.Row(j)[i] = a.Row(i)[j]
			}
		}
		for _, trans := range []bool{false, true} {
			what := fmt.Sprintf("two-sided solve %d trans=%t", n, trans)
			got := sameInAllSets(t, what, func(p *Pool) Mat {
				out := cloneWide(a)
				p.Congruence(trans, w, out, randMat(r, n, n, 1))
				checkGuards(t, what, out)
				for i := range n {
					for j := range i {
						if !sameBits(out.Row(i)[j], out.Row(j)[i]) {
							t.Fatalf("%s: (%d, %d) is not its mirror image", what, i, j)
						}
					}
				}
				return out
			})
			half, _ := refProduct(transposed(w, trans), clone(a))
			sum, _ := refProduct(half, transposed(w, !trans))
			mass, _ := refProduct(absolute(transposed(w, trans)), absolute(a))
			mass, _ = refProduct(mass, absolute(transposed(w, !trans)))
			within(t, what, got, sum, mass, sum, 1, 0, 2*n)
		}
	}
}

func absolute(m Mat) Mat {
	c := clone(m)
	for i, v := range c.Data {
		c.Data[i] = math.Abs(v)
	}
	return c
}

// TestVectorProduct: the way without packing has the bits of the way with.
func TestVectorProduct(t *testing.T) {
	r := newRand()
	for _, k := range depths {
		for _, m := range []int{1, 3, 16, 50} {
			a, b, c := randMat(r, k, m, 1), randMat(r, k, 2, 1), randMat(r, m, 2, 1)
			for _, beta := range []float64{0, 1, 0.5} {
				sameInAllSets(t, "vector product", func(p *Pool) Mat {
					two, one, row := cloneWide(c), cloneWide(c), cloneWide(c)
					p.Gemm(true, false, -0.3, a, b, beta, two)
					p.Gemm(true, false, -0.3, a, b.Slice(0, k, 1, 2), beta, one.Slice(0, m, 1, 2))
					equalBits(t, "one column", one.Slice(0, m, 1, 2), two.Slice(0, m, 1, 2))
					p.Gemm(true, true, -0.3, a, transposed(b.Slice(0, k, 1, 2), true), beta, row.Slice(0, m, 1, 2))
					equalBits(t, "one row", row, one)
					return two
				})
			}
		}
	}
}

// TestSpecialValues: a NaN or an infinity in a row of the left operand shows in that
// row of the product and nowhere else.
func TestSpecialValues(t *testing.T) {
	withSets(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Close()
		a, b, c := NewMat(9, 5), NewMat(5, 25), NewMat(9, 25)
		for i := range b.Data {
			b.Data[i] = 1
		}
		a.Data[2*5+3] = math.NaN()
		a.Data[8*5+4] = math.Inf(-1)
		p.Gemm(false, false, 1, a, b, 0, c)
		for i := range c.Rows {
			for j, v := range c.Row(i) {
				if ok := (i == 2 && math.IsNaN(v)) || (i == 8 && math.IsInf(v, -1)) || (i != 2 && i != 8 && v == 0); !ok {
					t.Fatalf("element (%d, %d) = %g", i, j, v)
				}
			}
		}
	})
}

// Once its scratch memory has grown, an operation allocates next to nothing.
func TestNoAllocation(t *testing.T) {
	p := NewPool(1)
	defer p.Close()
	a, c, l := randMat(newRand(), 130, 100, 0), NewMat(130, 100), clone(lowerOnly(randLower(newRand(), 100, 0)))
	s, inv := NewMat(100, 100), make([]float64, 100)
	operations := func() {
		p.Gemm(false, true, 1, a, l, 0, c)
		p.Syrk(true, 1, a, 0, s)
		p.TrmmRightLower(l, a, c)
		p.trmmRightLowerTrans(l, a, c)
		p.TrsmRightLowerTrans(l, c)
		p.TrsmLeftLower(l, s)
		p.Kernel(SquaredExponential, a, a.Slice(0, 100, 0, 100), nil, inv, 1, c, Mat{})
		for i := range s.Rows {
			clear(s.Row(i))
			s.Row(i)[i] = 2
		}
		if !p.Cholesky(s) {
			t.Fatal("not positive definite")
		}
	}
	operations()
	allocated.Within(t, 8<<10, operations)
}

// FuzzGemm takes shapes, strides and transposes from the fuzzer and compares all sets
// with each other and with the reference.
func FuzzGemm(f *testing.F) {
	f.Add(uint16(3), uint16(5), uint16(300), uint8(0))
	f.Add(uint16(97), uint16(25), uint16(1), uint8(7))
	f.Fuzz(func(t *testing.T, m, n, k uint16, flags uint8) {
		alpha, beta := 1-float64(flags>>4), float64(flags>>2&3)-1
		testGemm(t, 1+int(m)%120, 1+int(n)%120, 1+int(k)%320, flags&1 != 0, flags&2 != 0, alpha, beta)
	})
}

func TestGemmLower(t *testing.T) {
	withSets(t, func(t *testing.T) {
		p := NewPool(3)
		defer p.Close()
		r := newRand()
		for _, n := range []int{1, 7, 24, 25, 97, 200} {
			for _, k := range []int{1, 30, 300} {
				for _, beta := range []float64{0, 1, -0.5} {
					a, b := randMat(r, n, k, 3), randMat(r, k, n, 2)
					c := randMat(r, n, n, 5)
					want, upper := clone(c), clone(c)
					p.GemmLower(false, false, 0.7, a, b, beta, c)
					p.Gemm(false, false, 0.7, a, b, beta, want)
					for i := range n {
						if !slices.Equal(c.Row(i)[:i+1], want.Row(i)[:i+1]) {
							t.Fatalf("n=%d k=%d beta=%g: row %d has other bits than the whole product", n, k, beta, i)
						}
						if !slices.Equal(c.Row(i)[i+1:], upper.Row(i)[i+1:]) {
							t.Fatalf("n=%d k=%d beta=%g: row %d is changed above the diagonal", n, k, beta, i)
						}
					}
				}
			}
		}
	})
}
