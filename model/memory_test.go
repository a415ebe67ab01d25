package model

import (
	"runtime"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// live is what the heap holds after a collection.
func live() int64 {
	runtime.GC()
	runtime.GC() // of what the first one has finalised
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// What is counted is what the heap holds, to 15 %. Of several workers those that find no
// work fill no buffers: more may be counted for them than is held.
func TestMemoryIsCounted(t *testing.T) {
	for _, workers := range []int{1, 2} {
		if workers == 1 || !testing.Short() {
			testMemoryIsCounted(t, workers, 0.15+0.25*float64(workers-1))
		}
	}
}

func testMemoryIsCounted(t *testing.T, workers int, most float64) {
	equal := func(what string, counted, measured int64) {
		t.Helper()
		if off := float64(counted)/float64(measured) - 1; off < -0.15 || off > most {
			t.Errorf("%s: %.1f MB are counted, %.1f MB measured: %+.0f %%", what, float64(counted)/1e6, float64(measured)/1e6, 100*off)
		}
	}
	for _, size := range []struct {
		f    *kernel.Family
		m, d int
	}{{kernel.SquaredExponential, 300, 2}, {kernel.Matern52, 500, 5}, {kernel.SquaredExponential, 500, 100}} {
		rows := testRows(3000, size.d, 5)
		c := testConfig(t, rows, true)
		c.Kernel, c.Inducing, c.Workers = size.f, size.m, workers
		c.Plan = Plan{Joint: 1, Batch: 1500, Settle: 1, EstimateRows: 50}
		counted := MemoryOf(size.f, size.m, size.d, rows.Len(), c.Workers)
		before := live()
		tr, err := NewTrainer(c, rows)
		fatal.If(t, err)
		drive(t, tr, rows, 1500, nil)
		equal("a trainer", counted.Step, live()-before)
		state, err := tr.MarshalBinary()
		fatal.If(t, err)
		equal("its state", counted.State, int64(cap(state)))
		runtime.KeepAlive(state)
		p, _, err := tr.Result()
		fatal.If(t, err)
		tr.Close()
		tr = nil
		before = live()
		predictor, err := NewPredictor(p, c.Workers)
		fatal.If(t, err)
		if held := live() - before; held > counted.Pass {
			t.Errorf("a predictor holds %d bytes, and %d are counted for its making", held, counted.Pass)
		}
		predictor.Close()
	}
}
