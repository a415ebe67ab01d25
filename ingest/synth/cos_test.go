package synth

import (
	"math"
	"testing"
)

func TestCosTurns(t *testing.T) {
	for i := -4000; i <= 4000; i++ {
		x := float64(i) / 1024
		if got, want := cosTurns(x), math.Cos(2*math.Pi*x); !(math.Abs(got-want) < 1e-14) { // 2πt is itself rounded
			t.Errorf("cosTurns(%v) = %v, want %v", x, got, want)
		}
	}
	for x, want := range map[float64]float64{0: 1, 0.25: 0, 0.5: -1, 0.75: 0, 1: 1, -0.5: -1, 1.0 / 6: 0.5, 1.0 / 3: -0.5} {
		if got := cosTurns(x); !(math.Abs(got-want) < 1e-15) {
			t.Errorf("cosTurns(%v) = %v, want %v", x, got, want)
		}
	}
}
