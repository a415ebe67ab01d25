package pass_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// Ten billion rows in a million shards, from a thousand parts: the parts are read, merged and certified as those of a
// small lake. Each shard is a copy of a real one with a duplicate, so that the split follows from no hash of ordinals.
func BenchmarkParts(b *testing.B) {
	parts, shards, rows := 1000, 1000, 10_000
	if testing.Short() {
		parts, shards = 10, 100
	}
	rng, columns := rand.New(rand.NewPCG(90, 1)), [][]float64{make([]float64, rows), make([]float64, rows)}
	for i := range rows - 1 {
		columns[0][i] = rng.NormFloat64()
		columns[1][i] = math.Sin(columns[0][i]) + 0.3*rng.NormFloat64()
	}
	columns[0][rows-1], columns[1][rows-1] = columns[0][0], columns[1][0]
	store, source := &pipelinetest.Store{}, pipelinetest.NewMemory([]string{"x", "y"}, columns, rows)
	env := fit.Environment{
		Open: func(context.Context, []string) (dataset.Source, error) { return source, nil },
		Sink: store, Log: store, Checkpoints: store, Software: "pacsgp test",
	}
	j, err := job.Job{
		Target: "y", Loss: job.LossDecl{Epsilon: 0.4}, Delta: 0.01, Inducing: []int{20}, Scaling: job.ScalingNone, Guarantees: []certify.MethodID{certify.MethodPACBayes},
		Grid: job.GridDecl{Min: -6, Max: 6, Step: 0.5, Prior: certify.PriorFlat}, Train: job.TrainDecl{Passes: 2},
	}.WithDefaults()
	fatal.If(b, err)
	h, err := fit.Fit(b.Context(), j, env)
	fatal.If(b, err)
	last, err := pipeline.Prepare(b.Context(), h, env)
	fatal.If(b, err)
	one, err := last.Pass(b.Context(), pass.Whole)
	fatal.If(b, err)
	for b.Loop() {
		var all *pass.Pass
		var reading, merging time.Duration
		for k := range parts {
			p, err := one.Simulated(k, parts, shards)
			fatal.If(b, err)
			var data bytes.Buffer
			fatal.If(b, p.Write(b.Context(), &data))
			began := time.Now()
			p, err = pass.ReadPass(bytes.NewReader(data.Bytes()), int64(data.Len()))
			fatal.If(b, err)
			reading += time.Since(began)
			if began = time.Now(); all == nil {
				all = p
			} else {
				fatal.If(b, all.Merge(p))
			}
			merging += time.Since(began)
		}
		h.FoundIn(all)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		began := time.Now()
		_, err := pipeline.Certify(b.Context(), h, all, env)
		fatal.If(b, err)
		b.ReportMetric(time.Since(began).Seconds(), "certify-s")
		b.ReportMetric(reading.Seconds(), "read-s")
		b.ReportMetric(merging.Seconds(), "merge-s")
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
	}
}
