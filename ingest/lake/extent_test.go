package lake

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest"
)

// extent and copyExtent say what ingest.Check says: at all lengths around their
// blocks, with each odd value at each position, between guards that would change
// the answer and that a copy must not touch.
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
				checkExtent(t, guarded)
			}
		}
	}
}

func checkExtent(t *testing.T, guarded []float64) {
	t.Helper()
	n := len(guarded) - 2
	values := guarded[1 : n+1]
	wantLo, wantHi, wantFinite := ingest.Check(values)
	if lo, hi, finite := extent(values); lo != wantLo || hi != wantHi || finite != wantFinite {
		t.Fatalf("extent(%v) = %v, %v, %v, want %v, %v, %v", values, lo, hi, finite, wantLo, wantHi, wantFinite)
	}
	stored := append([]byte{0}, arrow.Float64Traits.CastToBytes(guarded)...)[1:] // of any alignment
	decoded := make([]float64, n+2)
	decoded[0], decoded[n+1] = guarded[0], guarded[n+1]
	if lo, hi, finite := copyExtent(decoded[1:n+1], stored[8:]); lo != wantLo || hi != wantHi || finite != wantFinite {
		t.Fatalf("copyExtent(%v) = %v, %v, %v, want %v, %v, %v", values, lo, hi, finite, wantLo, wantHi, wantFinite)
	}
	if !bytes.Equal(arrow.Float64Traits.CastToBytes(decoded), stored) {
		t.Fatalf("copyExtent copied %v as %v", guarded, decoded)
	}
}
