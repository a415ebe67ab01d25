package lake

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/ingest"
)

// extent says what ingest.Check says: at all lengths around its blocks, with each odd
// value at each position, between guards that would change the answer.
func TestExtent(t *testing.T) {
	odd := []float64{
		0, math.Copysign(0, -1), 7, -7, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1), ingest.Null.Cell(),
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 67 {
		for k := range n + 1 { // the last time without an odd value
			for _, x := range odd {
				guarded := make([]float64, n+2)
				guarded[0], guarded[n+1] = math.Inf(-1), math.NaN()
				values := guarded[1 : n+1]
				for i := range values {
					values[i] = rng.NormFloat64()
				}
				if k < n {
					values[k] = x
				}
				wantLo, wantHi, wantFinite := ingest.Check(values)
				if lo, hi, finite := extent(values); lo != wantLo || hi != wantHi || finite != wantFinite {
					t.Fatalf("extent(%v) = %v, %v, %v, want %v, %v, %v", values, lo, hi, finite, wantLo, wantHi, wantFinite)
				}
			}
		}
	}
}
