package pass

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// rawRowsOf puts a law's rows in the form of a pass: a feature, then the target.
func rawRowsOf(n int, row func(i int) (x, y float64)) dataset.RawRows {
	var values []float64
	for i := range n {
		x, y := row(i)
		values = append(values, x, y)
	}
	return dataset.NewRawRows(2, values)
}

// Independent rows of these laws show something in at most one of 100 samples: in 300 of each
// six laws at most a few. Dependent ones show it.
func TestDependenceOfIndependentRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	samples := 300
	if testing.Short() {
		samples = 30
	}
	laws := map[string]func() (x, y float64){
		"normal":       func() (float64, float64) { return rng.NormFloat64(), rng.NormFloat64() },
		"heavy-tailed": func() (float64, float64) { return math.Tan(math.Pi * rng.Float64()), math.Tan(math.Pi * rng.Float64()) },
		"discrete":     func() (float64, float64) { return float64(rng.IntN(40)), math.Floor(4 * rng.ExpFloat64()) },
		"integers":     func() (float64, float64) { return float64(rng.IntN(20_000)), float64(rng.IntN(20_000)) },
		"clustered": func() (float64, float64) {
			return float64(rng.IntN(5)) + 1e-3*rng.NormFloat64(), float64(rng.IntN(3)) + 1e-3*rng.NormFloat64()
		},
		"one value":      func() (float64, float64) { return 7, rng.NormFloat64() },
		"mostly nothing": func() (float64, float64) { return max(0, rng.NormFloat64()-2), max(0, rng.NormFloat64()-2) },
	}
	alarms := 0
	for name, law := range laws {
		for range samples {
			rows := rawRowsOf(2000, func(int) (float64, float64) { return law() })
			if d := orderOf(rows); suspicious(d) {
				t.Logf("%s: %+v", name, d)
				alarms++
			}
		}
	}
	if 100*alarms > len(laws)*samples {
		t.Errorf("%d alarms in %d samples", alarms, len(laws)*samples)
	}
}

// suspicious reports whether targets show a dependence.
func suspicious(s certify.Series) bool {
	lag, _ := s.Strongest()
	return lag > 0
}

// orderOf measures rows whose target is scaled by prior rows.
func orderOf(rows dataset.RawRows) certify.Series {
	y := rows.Column(1)
	target := dataset.Standardise(y[:len(y)/20])
	var targets series
	for _, v := range y {
		targets.add(inSteps((v - target.Centre) / target.Scale))
	}
	return targets.Series
}

// A walk and a likeness at a greater lag are suspicious; the walk is not when its rows were shuffled, as docs/explanation/certificate.md says.
func TestDependenceIsSuspicious(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	noise, walk := make([]float64, 2000), make([]float64, 2000)
	for i := range noise {
		noise[i] = rng.NormFloat64()
		walk[i] = walk[max(0, i-1)] + noise[i]
	}
	shuffled := rng.Perm(len(walk))
	for name, c := range map[string]struct {
		y    func(i int) float64
		want bool
	}{
		"noise":         {func(i int) float64 { return noise[i] }, false},
		"walk":          {func(i int) float64 { return walk[i] }, true},
		"shuffled walk": {func(i int) float64 { return walk[shuffled[i]] }, false},
		"lag 5":         {func(i int) float64 { return noise[i] + 0.5*noise[max(0, i-5)] }, true},
	} {
		d := orderOf(rawRowsOf(2000, func(i int) (float64, float64) { return 0, c.y(i) }))
		if suspicious(d) != c.want {
			t.Errorf("%s: suspicious %v, want %v: %+v", name, suspicious(d), c.want, d)
		}
	}
}

// Pairs at the borders of shards count, at every lag, wherever the shards end.
func TestSeriesInAnyShards(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 1))
	for range 50 {
		values := make([]int64, 2+rng.IntN(300))
		var want certify.Series
		for i := range values {
			v := int64(rng.IntN(2049) - 1024)
			values[i] = v
			want.Rows, want.Sum, want.Squares = want.Rows+1, want.Sum+v, want.Squares+v*v
			for lag := 1; lag <= min(i, certify.Lags); lag++ {
				want.Products[lag-1] += v * values[i-lag]
			}
		}
		var all series
		for rest := values; len(rest) > 0; {
			var shard series
			k := rng.IntN(min(len(rest), 1+rng.IntN(60)) + 1)
			for _, v := range rest[:k] {
				shard.add(v)
			}
			all.merge(shard)
			rest = rest[k:]
		}
		if got := all.Series; got != want {
			t.Fatalf("%d values in shards: %+v, want %+v", len(values), got, want)
		}
	}
}
