package model

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A search ends, also where value and gradient do not belong together to the last digit: a
// line search may then ask for one point again and again.
func TestDescentEnds(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		valueNoise, slopeNoise := math.Pow(10, -16*rng.Float64()), math.Pow(10, -16*rng.Float64())
		scale := []float64{1, math.Pow(10, 4*rng.Float64()), math.Pow(10, -4*rng.Float64())}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			const most = 300
			s, n := newDescent([]float64{1.3, -1, 2}, most), 0
			for x := s.next(); x != nil; x = s.next() {
				e := evaluation{0.2 + valueNoise*rng.NormFloat64(), make([]float64, 3)}
				for i, v := range x {
					e.value += 0.1 * scale[i] * v * v * v * v / (1 + v*v)
					e.gradient[i] = 0.2*scale[i]*v*v*v*(2+v*v)/((1+v*v)*(1+v*v)) + slopeNoise*rng.NormFloat64()
				}
				n++
				s.answer(e)
			}
			s.stop()
			if n > most {
				t.Errorf("%d evaluations, want at most %d", n, most)
			}
		}()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("seed %d: still searching", seed)
		}
	}
}
