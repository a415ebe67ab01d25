package pipeline_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Ten billion rows in a million shards, from a thousand parts: the parts are read, merged and
// certified as those of a small lake. Rows are not: each shard is a copy of one real shard.
func BenchmarkParts(b *testing.B) {
	parts, shards := 1000, 1000
	if testing.Short() {
		parts, shards = 10, 100
	}
	h, env, _ := handover(b, newLake(waves(10_000, 0.3, 90), 10_000), func(j *pipeline.Job) {
		drop(j)
		declared(j)
		j.Grid = pipeline.GridDecl{Min: -6, Max: 6, Step: 0.5, Prior: certify.PriorFlat}
		j.Guarantees = []certify.MethodID{certify.MethodPACBayes}
	})
	one := passOver(b, h, env, []int{0})
	defer one.Close()
	for b.Loop() {
		var all *pipeline.Pass
		var reading, merging time.Duration
		var size int
		for k := range parts {
			p, err := one.Simulated(k, parts, shards)
			fatal.If(b, err)
			data := encode(b, p)
			size += len(data)
			began := time.Now()
			p, err = pipeline.ReadPass(bytes.NewReader(data), int64(len(data)))
			fatal.If(b, err)
			reading += time.Since(began)
			if all == nil {
				all = p
				continue
			}
			began = time.Now()
			fatal.If(b, all.Merge(p))
			merging += time.Since(began)
		}
		h.Found(all)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		began := time.Now()
		_, err := h.Certify(b.Context(), all, env)
		fatal.If(b, err)
		b.ReportMetric(time.Since(began).Seconds(), "certify-s")
		b.ReportMetric(reading.Seconds(), "read-s")
		b.ReportMetric(merging.Seconds(), "merge-s")
		b.ReportMetric(float64(size)/float64(parts*shards), "B/shard")
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
	}
}
