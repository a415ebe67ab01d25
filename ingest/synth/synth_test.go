package synth_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

func newGenerator(t testing.TB, cfg synth.Config) *synth.Generator {
	t.Helper()
	g, err := synth.New(cfg)
	if err != nil {
		t.Fatalf("New(%+v): %v", cfg, err)
	}
	return g
}

// The kernel of random Fourier features is the mean of 2·cos·cos over the
// features; here it is estimated over functions instead: 400 draws.
func TestValueHasTheKernel(t *testing.T) {
	x, z := []float64{0.3, -1, 2}, []float64{0.5, -0.6, 1.7}
	const draws = 400
	var sum, square, cross, want float64
	for seed := range uint64(draws) {
		g := newGenerator(t, synth.Config{Seed: seed})
		fx, fz := g.Value(x), g.Value(z)
		sum += fx
		square += fx * fx
		cross += fx * fz
		var d2 float64
		for j, l := range g.Lengthscales() {
			if !(l > math.Exp(-1) && l < math.E) {
				t.Errorf("seed %d: lengthscale %v", seed, l)
			}
			d2 += (x[j] - z[j]) * (x[j] - z[j]) / (l * l)
		}
		want += math.Exp(-d2 / 2)
	}
	// Standard errors of the three means: 1/√400, √2/√400, below √2/√400.
	if m := sum / draws; math.Abs(m) > 4*0.05 {
		t.Errorf("mean of f = %v, want 0", m)
	}
	if v := square / draws; math.Abs(v-1) > 4*0.071 {
		t.Errorf("variance of f = %v, want 1", v)
	}
	if c := cross / draws; math.Abs(c-want/draws) > 4*0.071 {
		t.Errorf("covariance = %v, want %v", c, want/draws)
	}
}

func TestRowsAreTheSameHoweverTheyAreMade(t *testing.T) {
	g := newGenerator(t, synth.Config{Seed: 5, Noise: 0.1})
	all := g.Rows(0, 40)
	other := newGenerator(t, synth.Config{Seed: 5, Noise: 0.1})
	for _, cut := range []int{0, 1, 17, 39} {
		part := other.Rows(int64(cut), 40-cut)
		for j := range all {
			if !slices.Equal(part[j], all[j][cut:]) {
				t.Errorf("rows from %d on, column %d, differ from those of one piece", cut, j)
			}
		}
	}
	if y := newGenerator(t, synth.Config{Seed: 6, Noise: 0.1}).Rows(0, 40); slices.Equal(y[3], all[3]) {
		t.Error("two seeds, one function")
	}
}

func TestNoiseAndInputs(t *testing.T) {
	const n = 4000
	g := newGenerator(t, synth.Config{Seed: 1, Noise: 0.25, Features: 2})
	rows := g.Rows(0, n)
	var square, fourth float64
	for i := range n {
		x := []float64{rows[0][i], rows[1][i]}
		for _, v := range x {
			if !(v >= -3 && v < 3) {
				t.Fatalf("row %d: input %v", i, v)
			}
		}
		e := (rows[2][i] - g.Value(x)) / 0.25
		square += e * e
		fourth += e * e * e * e
	}
	if v := square / n; math.Abs(v-1) > 4*math.Sqrt(2.0/n) {
		t.Errorf("variance of the noise / 0.25² = %v, want 1", v)
	}
	if k := fourth / n; math.Abs(k-3) > 4*math.Sqrt(96.0/n) {
		t.Errorf("fourth moment of the noise = %v, want 3", k)
	}
}

// The bits must not change: certificates of the demo depend on them.
func TestGolden(t *testing.T) {
	g := newGenerator(t, synth.Config{Seed: 1, Noise: 0.1})
	rows := g.Rows(0, 1)
	got := fmt.Sprintf("%x", []float64{rows[0][0], rows[1][0], rows[2][0], rows[3][0]})
	const want = "[-0x1.2a875bb8afe9p+01 0x1.0c832f1b4a194p-01 -0x1.4cb5b3bf7e9efp+01 0x1.ea64183523b58p-01]"
	if got != want {
		t.Errorf("row 0 of seed 1 = %s, want %s", got, want)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, cfg := range []synth.Config{{Features: -1}, {Noise: -1}, {Noise: math.NaN()}, {Noise: math.Inf(1)}} {
		if _, err := synth.New(cfg); err == nil {
			t.Errorf("New(%+v): no error", cfg)
		}
	}
}

func TestWriteLake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	g := newGenerator(t, synth.Config{Seed: 2, Noise: 0.1, Features: 11})
	fatal.If(t, g.WriteLake(t.Context(), dir, 3, 0, 2500))
	open := func(t *testing.T) dataset.Source {
		src, err := lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Target: "y"}})
		fatal.If(t, err)
		return src
	}
	pipelinetest.TestSource(t, open)
	src := open(t)
	if !slices.Equal(src.Columns(), g.Columns()) {
		t.Errorf("columns %q, want %q", src.Columns(), g.Columns())
	}
	want := g.Rows(0, 2500)
	for i, s := range src.Shards() {
		got, _ := pipelinetest.Read(t, src, i)
		for j := range got {
			if !slices.Equal(got[j], want[j][s.First:s.First+s.Rows]) {
				t.Errorf("shard %d, column %d: not the rows that were written", i, j)
			}
		}
	}
	if err := g.WriteLake(t.Context(), dir, 3, 0, 2); err == nil {
		t.Error("2 rows in 3 files: no error")
	}
}

func ExampleGenerator_Rows() {
	g, err := synth.New(synth.Config{Seed: 1, Noise: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := g.Rows(0, 20000)
	var square float64
	for _, y := range rows[3] {
		square += y * y
	}
	fmt.Printf("%q, mean of y² %.2f\n", g.Columns(), square/20000)
	// Output: ["x1" "x2" "x3" "y"], mean of y² 0.69
}
