package linalg

import (
	"math"
	"testing"
)

// TestVectorLengths compares the sets, and with plain sums, at every length 0..66.
func TestVectorLengths(t *testing.T) {
	r := newRand()
	for n := range 67 {
		x, y := randMat(r, 1, n, 0), randMat(r, 1, n, 0)
		sameInAllSets(t, "axpy", func(*Pool) Mat {
			out := cloneWide(y)
			Axpy(0.7, x.Data, out.Data)
			checkGuards(t, "axpy", out)
			for i, got := range out.Data {
				if want := math.FMA(0.7, x.Data[i], y.Data[i]); got != want {
					t.Fatalf("axpy n=%d: element %d = %g, want %g", n, i, got, want)
				}
			}
			return out
		})
		var dot, sum, dotMass, sumMass float64
		for i, v := range x.Data {
			dot += v * y.Data[i]
			sum += v
			dotMass += math.Abs(v * y.Data[i])
			sumMass += math.Abs(v)
		}
		got := sameInAllSets(t, "dot and sum", func(*Pool) Mat {
			return Mat{Rows: 1, Cols: 2, Stride: 2, Data: []float64{Dot(x.Data, y.Data), Sum(x.Data)}}
		}).Data
		if bound := 2 * gamma(n+1) * dotMass; !(math.Abs(got[0]-dot) <= bound) {
			t.Errorf("dot n=%d = %g, want %g ± %g", n, got[0], dot, bound)
		}
		if bound := 2 * gamma(n+1) * sumMass; !(math.Abs(got[1]-sum) <= bound) {
			t.Errorf("sum n=%d = %g, want %g ± %g", n, got[1], sum, bound)
		}
	}
}
