package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// BenchmarkLastPass takes scaled rows to their expected losses: features, mean,
// variance, loss. "flop-rate" counts the 2M² operations a row that no way round
// them is known for.
func BenchmarkLastPass(b *testing.B) {
	n, sizes := 8192, []int{200, 500, 1000, 2000}
	if testing.Short() {
		n, sizes = 512, sizes[:2]
	}
	for _, d := range []int{8, 26} {
		for _, m := range sizes {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("d=%d/M=%d/workers=%d", d, m, workers), func(b *testing.B) {
					p, err := NewPredictor(benchPosterior(b, m, d), workers)
					fatal.If(b, err)
					defer p.Close()
					rows, l := testRows(n, d, 5), mustLoss(b, loss.ZeroOne, 0.6)
					b.ReportAllocs()
					for b.Loop() {
						if risk := lastPass(b, p, l, rows); !(risk > 0 && risk < float64(n)) {
							b.Fatalf("the losses add up to %g", risk)
						}
					}
					seconds := b.Elapsed().Seconds() / float64(b.N*n)
					b.ReportMetric(1/seconds, "rows/s")
					b.ReportMetric(2*float64(m)*float64(m)/seconds/1e9, "GFLOP/s")
				})
			}
		}
	}
}

// lastPass returns the sum of the rows' expected losses.
func lastPass(b *testing.B, p *Predictor, l loss.Loss, rows Rows) float64 {
	const batch = 2048 // rows, as a source delivers them
	laws, hi := loss.NewLaws(batch), make([]float64, batch)
	sum := 0.0
	for from := 0; from < rows.Len(); from += batch {
		some := rows.Slice(from, min(rows.Len(), from+batch))
		n := some.Len()
		fatal.If(b, p.PredictLoss(l, 0x1p-20, some.X, some.Y, laws.Slice(0, n), hi[:n]))
		for _, e := range hi[:n] {
			sum += e
		}
	}
	return sum
}

// benchPosterior returns a posterior with random numbers of a usual size.
func benchPosterior(b testing.TB, m, d int) *Posterior {
	b.Helper()
	p := &Posterior{
		Kernel: kernel.Kernel{Family: kernel.SquaredExponential, Lengthscales: make([]float64, d), Variance: 0.7},
		Jitter: 1e-6, Z: testRows(m, d, 6).X,
		Mean: make([]float64, m), L: make([]float64, m*m), Factor: make([]float64, m*m),
	}
	for i := range p.Kernel.Lengthscales {
		p.Kernel.Lengthscales[i] = math.Sqrt(float64(d))
	}
	pool := linalg.NewPool(1)
	defer pool.Close()
	z := view(p.Z, d)
	fatal.If(b, factorKuu(pool, p.Kernel, z, p.Jitter, view(p.L, m)))
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range m {
		p.Mean[i] = rng.NormFloat64()
		for j := range i {
			p.Factor[i*m+j] = 0.3 * rng.NormFloat64() / math.Sqrt(float64(m))
		}
		p.Factor[i*m+i] = 0.5
	}
	return p
}
