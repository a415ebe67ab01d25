package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"sort"
	"testing"
	"testing/synctest"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

const (
	kept     = 1 << 30 // bytes: all rows stay in memory
	streamed = 1       // bytes: they are read again and again
)

// newFeed reads the source for split and scaling.
func newFeed(ctx context.Context, src dataset.Source, j job.Job, res job.Resources) (*fit.Feed, error) {
	s, err := pass.First(ctx, src, j, res.WithDefaults(), nil)
	if err != nil {
		return nil, err
	}
	return fit.NewFeed(ctx, src, s, res.WithDefaults())
}

// feedOf is a feed of rows in shards and batches of odd sizes.
func feedOf(t testing.TB, columns [][]float64, memory int64, workers, batchRows int, shards ...int) *fit.Feed {
	t.Helper()
	table := source(columns, shards...)
	table.Table.BatchRows = batchRows
	src := &faulty{Source: table, batch: -1}
	f, err := newFeed(t.Context(), src, testJob(t, nil), job.Resources{Workers: workers, Memory: memory})
	fatal.If(t, err)
	before := src.opened.Load()
	fullPass(t, f)
	if read := src.opened.Load() > before; read == (memory == kept) {
		t.Fatalf("with %d bytes of memory a full pass reads the source: %t", memory, read)
	}
	return f
}

// fullPass returns the rows of a full pass and the sizes of its chunks.
func fullPass(t testing.TB, f *fit.Feed) (x, y []float64, sizes []int) {
	t.Helper()
	err := f.Chunks(t.Context(), nil, func(cx, cy []float64) error {
		x, y, sizes = append(x, cx...), append(y, cy...), append(sizes, len(cy))
		return nil
	})
	fatal.If(t, err)
	return x, y, sizes
}

func take(t testing.TB, r *fit.Shuffled, n int) (x, y []float64) {
	t.Helper()
	x, y, err := r.Take(t.Context(), n)
	fatal.If(t, err)
	return slices.Clone(x), slices.Clone(y)
}

// Kept or streamed, with few or many workers, in any batches: the same rows in
// the same order.
func TestFeedDeliversTheSameRowsKeptAndStreamed(t *testing.T) {
	columns := waves(1500, 0.1, 20)
	reference := feedOf(t, columns, kept, 1, 1000, 600, 1, 0, 899)
	x, y, _ := fullPass(t, reference)
	first := reference.Shuffled(3, 100, 0)
	defer first.Close()
	sx, sy := take(t, first, 3000)
	for _, c := range []struct {
		memory         int64
		workers, batch int
	}{{streamed, 1, 1000}, {streamed, 3, 7}, {streamed, 2, 100}, {kept, 2, 11}} {
		f := feedOf(t, columns, c.memory, c.workers, c.batch, 600, 1, 0, 899)
		if gx, gy, _ := fullPass(t, f); !slices.Equal(gx, x) || !slices.Equal(gy, y) {
			t.Errorf("%+v: a full pass gives other rows", c)
		}
		r := f.Shuffled(3, 100, 0)
		if gx, gy := take(t, r, 3000); !slices.Equal(gx, sx) || !slices.Equal(gy, sy) {
			t.Errorf("%+v: the shuffled reader gives other rows", c)
		}
		r.Close()
	}
}

// A full pass has every training row once, in the order of ordinals, in chunks that
// know nothing of batches and shards.
func TestFullPassChunks(t *testing.T) {
	columns := waves(9000, 0.1, 21)
	split := splitOf(9000, 0).PriorRows
	var want []float64
	for i, y := range columns[2] {
		if !slices.Contains(split, int64(i)) {
			want = append(want, y)
		}
	}
	var chunks []int
	for _, shards := range [][]int{nil, {1}, {4096, 4904}, {10, 20, 8000}} {
		for _, memory := range []int64{kept, streamed} {
			_, y, sizes := fullPass(t, feedOf(t, columns, memory, 2, 333, shards...))
			if chunks == nil {
				chunks = sizes
			}
			if !slices.Equal(sizes, chunks) || len(sizes) != 3 {
				t.Errorf("shards %v, kept %v: chunks of %v rows, want %v", shards, memory == kept, sizes, chunks)
			}
			if len(y) != len(want) {
				t.Fatalf("shards %v: %d rows, want the %d training rows", shards, len(y), len(want))
			}
			// Scaling is monotone: ranks show which row stands where.
			if !slices.Equal(order(y), order(want)) {
				t.Errorf("shards %v: rows are not the training rows in their order", shards)
			}
		}
	}
}

// order is the permutation that sorts x.
func order(x []float64) []int {
	at := make([]int, len(x))
	for i := range at {
		at[i] = i
	}
	sort.Slice(at, func(i, j int) bool { return x[at[i]] < x[at[j]] })
	return at
}

// Each epoch has every training row once, in an order of its own.
func TestEpochsArePermutations(t *testing.T) {
	columns := waves(1300, 0.1, 22)
	for _, buffer := range []int{1, 64, 5000} {
		f := feedOf(t, columns, kept, 1, 1000, 500, 300, 500)
		_, y, _ := fullPass(t, f)
		want := slices.Sorted(slices.Values(y))
		r := f.Shuffled(1, buffer, 0)
		var epochs [][]float64
		for range 3 {
			_, e := take(t, r, len(y))
			epochs = append(epochs, e)
			if !slices.Equal(slices.Sorted(slices.Values(e)), want) {
				t.Errorf("buffer %d: an epoch is no permutation of the training rows", buffer)
			}
		}
		r.Close()
		if buffer > 1 && (slices.Equal(epochs[0], epochs[1]) || slices.Equal(epochs[1], epochs[2]) || slices.Equal(epochs[0], y)) {
			t.Errorf("buffer %d: an epoch has the order of another one, or that of the source", buffer)
		}
		other := f.Shuffled(2, buffer, 0)
		if _, e := take(t, other, len(y)); buffer > 1 && slices.Equal(e, epochs[0]) {
			t.Errorf("buffer %d: another seed gives the same order", buffer)
		}
		other.Close()
	}
}

// A reader that starts at any position goes on as one that came there.
func TestShuffledResumesAnywhere(t *testing.T) {
	columns := waves(900, 0.1, 23)
	for _, memory := range []int64{kept, streamed} {
		f := feedOf(t, columns, memory, 2, 100, 300, 600)
		n := int(splitOf(900, 0).Train())
		whole := f.Shuffled(9, 128, 0)
		x, y := take(t, whole, 3*n)
		whole.Close()
		for _, at := range []int{0, 1, 100, 511, 512, 513, n - 1, n, n + 1, 2*n - 1, 2 * n, 2*n + 77} {
			r := f.Shuffled(9, 128, int64(at))
			var gx, gy []float64
			for _, k := range []int{1, 30, 3*n - at - 31 - min(50, 3*n-at-31), min(50, 3*n-at-31)} {
				if k == 0 {
					continue
				}
				px, py := take(t, r, k)
				gx, gy = append(gx, px...), append(gy, py...)
			}
			if !slices.Equal(gx, x[2*at:]) || !slices.Equal(gy, y[at:]) {
				t.Errorf("resumed at row %d: another continuation", at)
			}
			r.Close()
		}
	}
}

// A bubble of synctest ends only when every goroutine in it has: the feed and a
// whole run leave none behind, whether they end well, by an error or cancelled.
func TestNoGoroutineIsLeft(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, env *fit.Environment, src *faulty) (context.Context, error){
		"well": func(t *testing.T, _ *fit.Environment, _ *faulty) (context.Context, error) {
			return t.Context(), nil
		},
		"by an error": func(t *testing.T, _ *fit.Environment, src *faulty) (context.Context, error) {
			src.shard, src.batch = 1, 2
			return t.Context(), errSource
		},
		"cancelled": func(t *testing.T, env *fit.Environment, _ *faulty) (context.Context, error) {
			ctx, cancel := context.WithCancel(t.Context())
			env.Observer.Progress = func(p job.Progress) {
				if p.Step == 3 {
					cancel()
				}
			}
			return ctx, context.Canceled
		},
	} {
		for _, mode := range []job.TrainMode{job.TrainFullPass, job.TrainMiniBatch} {
			for _, memory := range []int64{kept, streamed} {
				synctest.Test(t, func(t *testing.T) {
					table := source(waves(300, 0.2, 24), 100, 120, 80)
					table.Table.BatchRows = 30
					src := &faulty{Source: table, batch: -1}
					var store pipelinetest.Store
					env := environment(src, &store)
					env.Resources = job.Resources{Workers: 3, Memory: memory}
					ctx, want := end(t, &env, src)
					j := testJob(t, func(j *job.Job) { tiny(j); j.Train.Mode, j.Train.Batch = mode, 50 })
					if _, err := pipeline.Run(ctx, j, env); !errors.Is(err, want) {
						t.Errorf("%s, %s: error %v, want %v", name, mode, err, want)
					}
					if opened, closed := src.opened.Load(), src.closed.Load(); opened != closed || opened == 0 {
						t.Errorf("%s, %s: %d readings opened, %d closed", name, mode, opened, closed)
					}
				})
			}
		}
	}
}

// What a source fails with comes out, wherever it fails: in the first pass, in a
// full pass, in the middle of an epoch.
func TestErrorsOfASourceComeOut(t *testing.T) {
	columns := waves(400, 0.2, 25)
	for _, at := range []struct{ shard, batch int }{{0, 0}, {0, 3}, {2, 0}, {2, 1}} {
		table := source(columns, 150, 150, 100)
		table.Table.BatchRows = 40
		src := &faulty{Source: table, batch: -1}
		f, err := newFeed(t.Context(), src, testJob(t, nil), job.Resources{Memory: streamed})
		fatal.If(t, err)
		src.shard, src.batch = at.shard, at.batch
		if err := f.Chunks(t.Context(), nil, func(_, _ []float64) error { return nil }); !errors.Is(err, errSource) {
			t.Errorf("full pass, fault at %v: error %v", at, err)
		}
		r := f.Shuffled(1, 30, 0)
		if _, _, err := r.Take(t.Context(), 2*400); !errors.Is(err, errSource) {
			t.Errorf("shuffled, fault at %v: error %v", at, err)
		}
		r.Close()
		if _, err := newFeed(t.Context(), src, testJob(t, nil), job.Resources{}); !errors.Is(err, errSource) {
			t.Errorf("first pass, fault at %v: error %v", at, err)
		}
	}
}
