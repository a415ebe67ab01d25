package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// ready is a small model of a and b that is ready to predict.
func ready(t testing.TB, workers int) *pipeline.Ready {
	t.Helper()
	p := publish(t, newLake(waves(600, 0.1, 92), 600), tiny)
	r, err := pipeline.NewReady(p.result.Model, workers)
	fatal.If(t, err)
	t.Cleanup(r.Close)
	return r
}

// same reports whether two predictions are equal to the bit.
func same(a, b pipeline.Prediction) bool {
	return math.Float64bits(a.Mean) == math.Float64bits(b.Mean) && math.Float64bits(a.Deviation) == math.Float64bits(b.Deviation) &&
		math.Float64bits(a.PredictiveDeviation) == math.Float64bits(b.PredictiveDeviation) && a.Reason == b.Reason
}

// Row by row, by several goroutines at a time, or in batches: the same numbers, and the
// same reasons why there are none.
func TestRowPredictsAsBatch(t *testing.T) {
	r := ready(t, 2)
	rng := rand.New(rand.NewPCG(93, 1))
	columns := [][]float64{nil, nil}
	for i := range 1000 {
		size := math.Pow(10, float64(i%20)) // the further, the less is known
		columns[0] = append(columns[0], size*rng.NormFloat64())
		columns[1] = append(columns[1], size*rng.Float64())
	}
	columns[0][17], columns[1][18], columns[0][19], columns[1][19] = math.NaN(), math.Inf(-1), math.Inf(1), math.NaN()
	table := pipelinetest.NewMemory([]string{"a", "b"}, columns)
	table.Table.BatchRows = 301
	src := table.Choose(dataset.Choice{Mark: true})
	var want []pipeline.Prediction
	fatal.If(t, r.Predict(t.Context(), src, nil, func(batch []pipeline.Prediction) error {
		want = append(want, batch...)
		return nil
	}))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g % 2; i < len(want); i += 2 {
				got, err := r.Row([]float64{columns[0][i], columns[1][i]})
				if err != nil || !same(got, want[i]) {
					t.Errorf("Row(%v, %v) = %+v, %v, want %+v", columns[0][i], columns[1][i], got, err, want[i])
				}
			}
		})
	}
	wg.Wait()
	reasons := map[string]int{}
	for _, p := range want {
		reasons[p.Reason]++
	}
	for _, reason := range []string{"a is NaN", "b is infinite", "a is infinite; b is NaN"} {
		if reasons[reason] != 1 {
			t.Errorf("%d rows have the reason %q, want one", reasons[reason], reason)
		}
	}
	if reasons[""] < 100 || len(reasons) != 5 {
		t.Errorf("the reasons are %v: want predictions, and rows that lie too far away", reasons)
	}
}

func TestRowOfAnotherLengthIsAnError(t *testing.T) {
	r := ready(t, 1)
	for _, values := range [][]float64{nil, {1}, {1, 2, 3}} {
		if _, err := r.Row(values); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("a row of %d values, the model wants 2", len(values))) {
			t.Errorf("Row(%v): %v, want an error", values, err)
		}
	}
}

func TestRowAllocatesNextToNothing(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector pools drop what they are given")
	}
	r := ready(t, 1)
	row := []float64{0.5, 0.5}
	if n := testing.AllocsPerRun(200, func() {
		if _, err := r.Row(row); err != nil {
			t.Fatal(err)
		}
	}); n > 6 {
		t.Errorf("%v allocations a row, want at most 6", n)
	}
}

// About 95 % of fresh targets lie within 1.96 predictive deviations of their predictions,
// whatever the noise, and however wide the tolerance has made Q.
func TestPredictiveDeviationCoversTargets(t *testing.T) {
	for _, noise := range []float64{0.05, 0.8} {
		p := publish(t, newLake(waves(1500, noise, 94), 1500), nil)
		r, err := pipeline.NewReady(p.result.Model, 1)
		fatal.If(t, err)
		defer r.Close()
		fresh := waves(4000, noise, 95)
		covered := 0.0
		for i, y := range fresh[2] {
			row, err := r.Row([]float64{fresh[0][i], fresh[1][i]})
			fatal.If(t, err)
			if math.Abs(y-row.Mean) <= 1.96*row.PredictiveDeviation {
				covered++
			}
		}
		if covered /= float64(len(fresh[2])); !(covered > 0.93 && covered < 0.97) {
			t.Errorf("noise %g: mean ± 1.96 predictive deviations covers %.3f", noise, covered)
		}
	}
}

// Losses of means, row by row, add up to at least those of an evaluation, and hardly more.
func TestLossesOfRowsAddUp(t *testing.T) {
	p := publish(t, newLake(waves(600, 0.1, 92), 600), tiny)
	src, err := newLake(waves(2000, 0.5, 170)).open(t.Context(), nil)
	fatal.If(t, err)
	_, want, _, err := pipeline.Evaluate(t.Context(), src, p.result.Model, 1)
	fatal.If(t, err)
	var mean certify.RiskSum
	fatal.If(t, pipeline.Predict(t.Context(), src, p.result.Model, 2, func(batch []pipeline.Prediction) error {
		for _, row := range batch {
			if err := mean.AddUnits(row.Loss); err != nil {
				return err
			}
		}
		return nil
	}))
	if mean.Count() != 2000 || !(want <= mean.Upper() && mean.Upper() < want+0.01) {
		t.Errorf("%d rows lose %v, want %v of 2000", mean.Count(), mean.Upper(), want)
	}
}
