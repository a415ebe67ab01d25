package synth

import (
	"math"
	"testing"
)

func TestCosTurns(t *testing.T) {
	for i := -4000; i <= 4000; i++ {
		turns := float64(i) / 1024
		if got, want := cosTurns(turns), math.Cos(2*math.Pi*turns); !(math.Abs(got-want) < 1e-14) { // 2πt is itself rounded
			t.Errorf("cosTurns(%v) = %v, want %v", turns, got, want)
		}
	}
	for turns, want := range map[float64]float64{0: 1, 0.25: 0, 0.5: -1, 0.75: 0, 1: 1, -0.5: -1, 1.0 / 6: 0.5, 1.0 / 3: -0.5} {
		if got := cosTurns(turns); !(math.Abs(got-want) < 1e-15) {
			t.Errorf("cosTurns(%v) = %v, want %v", turns, got, want)
		}
	}
}
