package model

import (
	"slices"
	"sync"
	"testing"

	"github.com/pacsgp/pacsgp/model/loss"
)

// Callers that use one predictor at the same time get what each would get alone.
func TestPredictorIsForSeveralGoroutines(t *testing.T) {
	const n, d, m, callers = 700, 3, 40, 5
	rows, l := testRows(n, d, 21), mustLoss(t, loss.ZeroOne, 0.6)
	for _, workers := range []int{1, 3} {
		p, err := NewPredictor(benchPosterior(t, m, d), workers)
		if err != nil {
			t.Fatal(err)
		}
		score := func() (Laws, []float64) {
			laws, hi := NewLaws(n), make([]float64, n)
			if err := p.PredictLoss(l, 0x1p-20, rows.X, rows.Y, laws, hi); err != nil {
				t.Error(err)
			}
			return laws, hi
		}
		want, wantHi := score()
		var running sync.WaitGroup
		for range callers {
			running.Go(func() {
				for range 4 {
					laws, hi := score()
					if !slices.Equal(laws.Mean, want.Mean) || !slices.Equal(laws.Variance, want.Variance) || !slices.Equal(hi, wantHi) {
						t.Errorf("%d workers: a caller among %d got other numbers", workers, callers)
					}
				}
			})
		}
		running.Wait()
		p.Close()
	}
}
