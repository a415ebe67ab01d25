package synth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
)

// fourier is the number of Fourier features. With fewer, the function is visibly not drawn from a Gaussian process.
const fourier = 2000

// Config identifies a source of rows. Its zero value is valid.
type Config struct {
	// Seed selects the function and the rows.
	Seed uint64
	// Noise is the standard deviation of the noise, from 0. That of the function is about 1.
	Noise float64
	// Features is the number of inputs, from 1 to 1000. Zero means 3.
	Features int
}

const halfWidth = 3

// Streams of the random number generator.
const (
	streamFunction = 0x66756e6374696f6e
	streamRows     = 0x726f7773726f7773
)

// A Generator makes the rows of a source. It may be used by several goroutines.
type Generator struct {
	cfg          Config
	lengthscales []float64
	omega        [][]float64 // [Features][fourier], in units of 2π
	phase        []float64   // [fourier], in units of 2π
	amplitude    float64
}

// New draws the function of the source that cfg identifies.
func New(cfg Config) (*Generator, error) {
	cfg.Features = cmp.Or(cfg.Features, 3)
	switch {
	case cfg.Features < 1 || cfg.Features > 1000:
		return nil, fmt.Errorf("synth: %d features, want 1 to 1000", cfg.Features)
	case !(cfg.Noise >= 0 && cfg.Noise <= math.MaxFloat64):
		return nil, fmt.Errorf("synth: noise %v, want a standard deviation of at least 0", cfg.Noise)
	}
	g := &Generator{cfg: cfg, amplitude: math.Sqrt(2.0 / fourier)}
	rng := rand.New(rand.NewPCG(cfg.Seed, streamFunction)) //nolint:gosec // reproducible numbers, no secrets
	for range cfg.Features {
		g.lengthscales = append(g.lengthscales, math.Exp(uniform(rng, -1, 1)))
	}
	g.omega = make([][]float64, cfg.Features)
	for range fourier {
		for j, l := range g.lengthscales {
			g.omega[j] = append(g.omega[j], normal(rng)/(2*math.Pi*l))
		}
		g.phase = append(g.phase, rng.Float64())
	}
	return g, nil
}

// Columns returns the names of the columns in bytewise order, the target last.
func (g *Generator) Columns() []string {
	digits := len(fmt.Sprint(g.cfg.Features))
	var names []string
	for j := range g.cfg.Features {
		names = append(names, fmt.Sprintf("x%0*d", digits, j+1))
	}
	return append(names, "y")
}

// Rows returns rows [first, first+n) as columns, the target last.
func (g *Generator) Rows(first int64, n int) [][]float64 {
	columns := make([][]float64, g.cfg.Features+1)
	for j := range columns {
		columns[j] = make([]float64, n)
	}
	x := make([]float64, g.cfg.Features)
	for i := range n {
		rng := rand.New(rand.NewPCG(g.cfg.Seed^streamRows, uint64(first)+uint64(i))) //nolint:gosec // as above
		for j := range x {
			x[j] = uniform(rng, -halfWidth, halfWidth)
			columns[j][i] = x[j]
		}
		noise := float64(g.cfg.Noise * normal(rng))
		columns[len(x)][i] = g.Value(x) + noise
	}
	return columns
}

// Value returns the function's value at x, without noise.
func (g *Generator) Value(x []float64) float64 {
	var sum float64
	for r, angle := range g.phase {
		for j, v := range x {
			angle += float64(g.omega[j][r] * v) // not fused: the same bits on all processors
		}
		sum += cosTurns(angle)
	}
	return float64(g.amplitude * sum)
}

func uniform(rng *rand.Rand, lo, hi float64) float64 {
	return lo + float64((hi-lo)*rng.Float64())
}

// normal returns a standard normal number by the method of Box and Muller.
func normal(rng *rand.Rand) float64 {
	radius := math.Sqrt(-2 * math.Log(1-rng.Float64()))
	return float64(radius * cosTurns(rng.Float64()))
}

// cosTurns returns cos(2πt), for |t| < 2⁵⁰, with an error below 1e-15 (tested). With u = ¼ − |t − nearest integer|,
// in [−¼, ¼], it is sin(2πu), whose Taylor polynomial is summed. The first omitted term is below 2e-18.
func cosTurns(t float64) float64 {
	u := 0.25 - math.Abs(t-math.Floor(t+0.5))
	z := float64(u * u)
	w := float64(z * z)
	// Even and odd terms are separate: two short chains instead of a long one.
	even, odd := taylor[10], taylor[9]
	even, odd = taylor[8]+float64(even*w), taylor[7]+float64(odd*w)
	even, odd = taylor[6]+float64(even*w), taylor[5]+float64(odd*w)
	even, odd = taylor[4]+float64(even*w), taylor[3]+float64(odd*w)
	even, odd = taylor[2]+float64(even*w), taylor[1]+float64(odd*w)
	even = taylor[0] + float64(even*w)
	return float64(u * (even + float64(odd*z)))
}

// taylor has the coefficients (−1)^k (2π)^(2k+1) / (2k+1)! of sin(2πu).
var taylor = [...]float64{
	6.283185307179586, -41.34170224039976, 81.60524927607506, -76.70585975306139, 42.058693944897655, -15.09464257682299,
	3.819952584848282, -0.7181223017785006, 0.10422916220813984, -0.012031585942120627, 0.0011309237482517963,
}
