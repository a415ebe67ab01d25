package pipeline

import (
	"math"
	"math/rand/v2"
	"testing"
)

// rawRowsOf puts a law's rows in the form of a pass: a feature, then the target.
func rawRowsOf(n int, row func(i int) (x, y float64)) rawRows {
	r := rawRows{columns: 2, n: n}
	for i := range n {
		x, y := row(i)
		r.values = append(r.values, x, y)
	}
	return r
}

// Sixty rows of noise fifty times, apart in the ninth digit: the reference rows show it. So
// they show a counter and a clock.
func TestFindings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var noise [60][2]float64
	for i := range noise {
		noise[i] = [2]float64{rng.NormFloat64(), rng.NormFloat64()}
	}
	apart := func(v float64) float64 { return v * (1 + 1e-9*rng.NormFloat64()) }
	near := rawRowsOf(200, func(int) (float64, float64) {
		r := noise[rng.IntN(len(noise))]
		return apart(r[0]), apart(r[1])
	})
	if f := findings(near, []string{"x"}); f == nil || f.NearCopies < 100 || f.Ordered != nil {
		t.Errorf("of 60 rows of noise 200 times the findings are %+v", f)
	}
	for name, x := range map[string]func(i int) float64{
		"counter": func(i int) float64 { return float64(i) }, "clock": func(i int) float64 { return -1e9 - float64(i/3) },
	} {
		f := findings(rawRowsOf(200, func(i int) (float64, float64) { return x(i), rng.NormFloat64() }), []string{name})
		if f == nil || f.NearCopies != 0 || len(f.Ordered) != 1 || f.Ordered[0] != name {
			t.Errorf("%s: the findings are %+v", name, f)
		}
	}
}

// Independent rows of these laws show nothing in 99 of 100 samples: here in all.
func TestFindingsOfIndependentRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	samples := 300
	if testing.Short() {
		samples = 30
	}
	laws := map[string]func() (x, y float64){
		"normal":       func() (float64, float64) { return rng.NormFloat64(), rng.NormFloat64() },
		"heavy-tailed": func() (float64, float64) { return math.Tan(math.Pi * rng.Float64()), math.Tan(math.Pi * rng.Float64()) },
		"discrete":     func() (float64, float64) { return float64(rng.IntN(40)), math.Floor(4 * rng.ExpFloat64()) },
		"clustered": func() (float64, float64) {
			return float64(rng.IntN(5)) + 1e-3*rng.NormFloat64(), float64(rng.IntN(3)) + 1e-3*rng.NormFloat64()
		},
		"one value":      func() (float64, float64) { return 7, rng.NormFloat64() },
		"mostly nothing": func() (float64, float64) { return max(0, rng.NormFloat64()-2), max(0, rng.NormFloat64()-2) },
	}
	for name, law := range laws {
		alarms := 0
		for range samples {
			if findings(rawRowsOf(2000, func(int) (float64, float64) { return law() }), []string{"x"}) != nil {
				alarms++
			}
		}
		if alarms > 0 {
			t.Errorf("%s: %d alarms in %d samples", name, alarms, samples)
		}
	}
}
