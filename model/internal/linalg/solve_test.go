package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Sizes around the blocks of 48 and 384.
var triangleSizes = []int{1, 2, 3, 5, 8, 23, 24, 25, 47, 48, 49, 95, 96, 97, 100, 144, 150, 383, 384, 385, 436}

// randLower returns a well-conditioned lower triangular matrix; above the diagonal
// stands NaN, which must not be read.
func randLower(r *rand.Rand, n, gap int) Mat {
	l := randMat(r, n, n, gap)
	for i := range n {
		row := l.Row(i)
		for j := range row {
			switch {
			case j < i:
				row[j] /= math.Sqrt(float64(n))
			case j == i:
				row[j] = 1 + math.Abs(row[j])
			default:
				row[j] = math.NaN()
			}
		}
	}
	return l
}

var solvers = []struct {
	name string
	call func(p *Pool, l, b Mat)
	left bool // l stands on the left
	tr   bool // and is transposed
}{
	{"right trans", (*Pool).TrsmRightLowerTrans, false, true},
	{"right", (*Pool).TrsmRightLower, false, false},
	{"left", (*Pool).TrsmLeftLower, true, false},
	{"left trans", (*Pool).TrsmLeftLowerTrans, true, true},
}

// TestTrsm: the residual of the solution is small against the mass of its product.
func TestTrsm(t *testing.T) {
	for i, n := range triangleSizes {
		m := smallSizes[(5*i)%len(smallSizes)]
		if n == 150 {
			m = 400
		}
		for _, s := range solvers {
			what := fmt.Sprintf("trsm %s n=%d m=%d", s.name, n, m)
			r := newRand()
			l := randLower(r, n, 1)
			rows, cols := m, n
			if s.left {
				rows, cols = n, m
			}
			b := randMat(r, rows, cols, 2)
			x := sameInAllSets(t, what, func(p *Pool) Mat {
				out := cloneWide(b)
				s.call(p, l, out)
				checkGuards(t, what, out)
				return out
			})
			op := transposed(lowerOnly(l), s.tr)
			left, right := clone(x), op
			if s.left {
				left, right = op, clone(x)
			}
			sum, mass := refProduct(left, right)
			for i := range b.Rows {
				for j, want := range b.Row(i) {
					// The inverted blocks of this l have a condition of a few tens at
					// most.
					bound := 100 * gamma(n+3) * (mass.Row(i)[j] + math.Abs(want))
					if got := sum.Row(i)[j]; !(math.Abs(got-want) <= bound) {
						t.Fatalf("%s: residual (%d, %d): %g, want %g ± %g", what, i, j, got, want, bound)
					}
				}
			}
		}
	}
}

// TestSolveAlone: a row of a right-hand solve (a column of a left-hand one) has the
// same bits, whatever stands around it; a NaN in another row does not matter.
func TestSolveAlone(t *testing.T) {
	r := newRand()
	const n, m = 310, 230
	l, b := randLower(r, n, 0), randMat(r, m, n, 1)
	bt := transposed(b, true)
	withSets(t, func(t *testing.T) {
		p := NewPool(2)
		defer p.Close()
		for _, s := range solvers {
			in := b
			if s.left {
				in = bt
			}
			whole := clone(in)
			s.call(p, l, whole)
			for _, size := range []int{1, 2, 3, 7, 8, 9, 24, 100} {
				for i0 := 0; i0+size <= m; i0 += 61 {
					cut := func(x Mat) Mat {
						if s.left {
							return x.Slice(0, n, i0, i0+size)
						}
						return x.Slice(i0, i0+size, 0, n)
					}
					part := clone(cut(in))
					s.call(p, l, part)
					equalBits(t, fmt.Sprintf("trsm %s, %d from %d", s.name, size, i0), part, cut(whole))
				}
			}
			poisoned := clone(in)
			poisoned.Data[0] = math.NaN()
			s.call(p, l, poisoned)
			if s.left {
				equalBits(t, s.name+" next to NaN", poisoned.Slice(0, n, 1, m), whole.Slice(0, n, 1, m))
			} else {
				equalBits(t, s.name+" next to NaN", poisoned.Slice(1, m, 0, n), whole.Slice(1, m, 0, n))
			}
		}
	})
}

// TestCholesky: L·Lᵀ returns a, within the bound of Higham (2002), theorem 10.3.
func TestCholesky(t *testing.T) {
	for _, n := range triangleSizes {
		what := fmt.Sprintf("cholesky n=%d", n)
		root := clone(lowerOnly(randLower(newRand(), n, 0)))
		a, _ := refProduct(root, transposed(root, true))
		l := sameInAllSets(t, what, func(p *Pool) Mat {
			out := randMat(newRand(), n, n, 3)
			for i := range n {
				for j := range n {
					out.Row(i)[j] = math.NaN()
				}
				copy(out.Row(i)[:i+1], a.Row(i))
			}
			if !p.Cholesky(out) {
				t.Fatalf("%s: not positive definite", what)
			}
			checkGuards(t, what, out)
			return out
		})
		equalBits(t, what+" upper triangle", lowerOnly(l), clone(l))
		sum, mass := refProduct(clone(l), transposed(l, true))
		for i := range n {
			for j, want := range a.Row(i)[:i+1] {
				bound := 2 * gamma(n+3) * mass.Row(i)[j]
				if got := sum.Row(i)[j]; !(math.Abs(got-want) <= bound) {
					t.Fatalf("%s: L·Lᵀ at (%d, %d) = %g, want %g ± %g", what, i, j, got, want, bound)
				}
			}
		}
	}
}

func TestCholeskyRefuses(t *testing.T) {
	p := NewPool(1)
	defer p.Close()
	for _, n := range []int{1, 5, 48, 49, 130} {
		for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, at := range []int{0, n / 2, n - 1} {
				a := NewMat(n, n)
				for i := range n {
					a.Row(i)[i] = 1
				}
				a.Row(at)[at] = bad
				if p.Cholesky(a) {
					t.Errorf("cholesky(n=%d, diagonal %d = %g) = true, want false", n, at, bad)
				}
			}
		}
		a := NewMat(n, n)
		for i := range n {
			for j := range n {
				a.Row(i)[j] = 1
			}
			a.Row(i)[i] = 1 - 1e-9
		}
		if n > 1 && p.Cholesky(a) {
			t.Errorf("cholesky(n=%d, indefinite) = true, want false", n)
		}
	}
	if !p.Cholesky(NewMat(0, 0)) {
		t.Error("cholesky of nothing = false, want true")
	}
}

// TestPrepared: packing once or again gives the same bits.
func TestPrepared(t *testing.T) {
	for i, n := range append([]int{600}, triangleSizes...) {
		m := smallSizes[(3*i)%len(smallSizes)]
		r := newRand()
		l, b := randLower(r, n, 1), randMat(r, m, n, 2)
		what := fmt.Sprintf("prepared n=%d m=%d", n, m)
		sameInAllSets(t, what, func(p *Pool) Mat {
			want, got := clone(b), cloneWide(b)
			p.TrsmRightLowerTrans(l, want)
			s := p.NewSolver(l)
			s.Solve(got)
			checkGuards(t, what, got)
			equalBits(t, what+" solver", got, want)
			product, out := NewMat(m, n), randMat(r, m, n, 1)
			p.TrmmRightLower(l, want, product)
			p.NewMultiplier(l).Multiply(want, out)
			checkGuards(t, what, out)
			equalBits(t, what+" multiplier", out, product)
			return product
		})
	}
}
