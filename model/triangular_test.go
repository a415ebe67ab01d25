package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// The operations by halves agree with plain ones, for sizes of one block and of
// several, and do not touch what they must not.
func TestHalvesAgreeWithWholeMatrices(t *testing.T) {
	pool := linalg.NewPool(2)
	defer pool.Close()
	for _, m := range []int{1, 40, squareBlock, squareBlock + 1, 2*squareBlock + 17, twoSidedBlock + 3, 529, 1057} {
		rng := rand.New(rand.NewPCG(uint64(m), 3))
		l, a := linalg.NewMat(m, m), linalg.NewMat(m, m)
		for i := range m {
			for j := range i {
				l.Row(i)[j] = rng.NormFloat64() / math.Sqrt(float64(m))
				a.Row(i)[j] = rng.NormFloat64()
				a.Row(j)[i] = a.Row(i)[j]
			}
			l.Row(i)[i], a.Row(i)[i] = 1+rng.Float64(), rng.NormFloat64()
		}
		clone := func(a linalg.Mat) linalg.Mat {
			c := linalg.NewMat(m, m)
			copy(c.Data, a.Data)
			return c
		}
		check := func(what string, got, want linalg.Mat, lower bool) {
			t.Helper()
			for i := range m {
				for j := range m {
					if lower && j > i {
						break
					}
					if g, w := got.Row(i)[j], want.Row(i)[j]; !(math.Abs(g-w) <= 1e-10*(1+math.Abs(w))) {
						t.Fatalf("M=%d: %s: element (%d, %d) is %g, want %g", m, what, i, j, g, w)
					}
				}
			}
		}
		inverse, identity, product := clone(a), linalg.NewMat(m, m), linalg.NewMat(m, m)
		invertLower(pool, l, inverse)
		for i := range m {
			identity.Row(i)[i] = 1
		}
		pool.Gemm(false, false, 1, l, inverse, 0, product)
		check("l·l⁻¹", product, identity, false)

		gram := linalg.NewMat(m, m)
		gramLower(pool, inverse, gram)
		pool.Gemm(true, false, 1, inverse, inverse, 0, product)
		check("gramLower", gram, product, true)

		got, want := clone(a), clone(a)
		white := newWhitener(m)
		copy(white.l.Data, l.Data)
		white.prepare(pool)
		white.solveBothSides(pool, got)
		pool.TrsmLeftLower(l, want)
		pool.TrsmRightLowerTrans(l, want)
		check("solveBothSides", got, want, false)

		got, want = clone(a), clone(a)
		white.solveBothSidesTrans(pool, got)
		pool.TrsmRightLower(l, want)
		pool.TrsmLeftLowerTrans(l, want)
		check("solveBothSidesTrans", got, want, false)

		for what, solve := range map[string][2]func(linalg.Mat, []float64){
			"solveLower":      {solveLower, func(l linalg.Mat, x []float64) { pool.TrsmLeftLower(l, view(x, 1)) }},
			"solveLowerTrans": {solveLowerTrans, func(l linalg.Mat, x []float64) { pool.TrsmLeftLowerTrans(l, view(x, 1)) }},
		} {
			x, y := clone(a).Row(m-1), clone(a).Row(m-1)
			solve[0](l, x)
			solve[1](l, y)
			for i := range x {
				if !(math.Abs(x[i]-y[i]) <= 1e-10*(1+math.Abs(y[i]))) {
					t.Fatalf("M=%d: %s: element %d is %g, want %g", m, what, i, x[i], y[i])
				}
			}
		}
	}
}
