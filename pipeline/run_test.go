package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// waves are n rows of y = sin 2x + noise, with a second feature that does not
// matter.
func waves(n int, noise float64, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	columns := [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range n {
		x := 6*rng.Float64() - 3
		columns[0][i], columns[1][i] = x, rng.Float64()
		columns[2][i] = math.Sin(2*x) + noise*rng.NormFloat64()
	}
	return columns
}

func source(columns [][]float64, shards ...int) pipelinetest.Memory {
	return pipelinetest.NewMemory([]string{"a", "b", "y"}, columns, shards...)
}

func testJob(t testing.TB, change func(*job.Job)) job.Job {
	t.Helper()
	j := job.Job{
		Target: "y", Loss: job.LossDecl{EpsilonStd: 0.6}, Delta: 0.01, Inducing: []int{20},
		Guarantees: []certify.MethodID{certify.MethodPACBayes}, // whatever the number of rows
	}
	if change != nil {
		change(&j)
	}
	j, err := j.WithDefaults()
	fatal.If(t, err)
	return j
}

func environment(src dataset.Source, store *pipelinetest.Store) fit.Environment {
	return fit.Environment{
		Open: func(context.Context, []string) (dataset.Source, error) { return src, nil },
		Sink: store, Log: store, Checkpoints: store, Software: "pacsgp test",
	}
}

func run(t testing.TB, j job.Job, env fit.Environment) *pipeline.Result {
	t.Helper()
	r, err := pipeline.Run(t.Context(), j, env)
	fatal.If(t, err)
	return r
}

func TestSameBytes(t *testing.T) {
	columns := waves(900, 0.2, 2)
	j := testJob(t, func(j *job.Job) {
		j.Train.Mode, j.Train.Batch, j.Train.Buffer, j.Train.Passes = job.TrainMiniBatch, 200, 300, 5
	})
	var want []byte
	for _, res := range []job.Resources{{Workers: 1}, {Workers: 2}, {Workers: 3, Memory: 1}, {Workers: 1, Memory: 1}} {
		var store pipelinetest.Store
		env := environment(source(columns, 100, 500, 300), &store)
		env.Resources = res
		run(t, j, env)
		if want == nil {
			want = store.Certificates[0]
		}
		if !bytes.Equal(store.Certificates[0], want) {
			t.Errorf("%+v: another certificate than with one worker and much memory", res)
		}
	}
}

func TestResumeGivesSameBytes(t *testing.T) {
	columns := waves(700, 0.2, 3)
	j := testJob(t, func(j *job.Job) {
		j.Train.Mode, j.Train.Batch, j.Inducing = job.TrainMiniBatch, 150, []int{5, 12}
	})
	var whole pipelinetest.Store
	steps := 0
	env := environment(source(columns, 400, 300), &whole)
	env.Observer.Progress = func(job.Progress) { steps++ }
	run(t, j, env)

	var store pipelinetest.Store
	stopped := errors.New("stopped")
	for stop := 2; ; stop += 7 {
		ctx, cancel := context.WithCancelCause(t.Context())
		env := environment(source(columns, 400, 300), &store)
		env.Resources.Checkpoint = 1
		seen := 0
		env.Observer.Progress = func(job.Progress) {
			if seen++; seen == stop {
				cancel(stopped)
			}
		}
		_, err := pipeline.Run(ctx, j, env)
		cancel(nil)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) && !errors.Is(err, stopped) {
			t.Fatal(err)
		}
		if stop > 3*steps {
			t.Fatal("no run came to its end")
		}
	}
	if !bytes.Equal(store.Certificates[0], whole.Certificates[0]) {
		t.Error("a run that was stopped and resumed gave another certificate")
	}
}

// demandFaults demands an error about the declaration that tells all these faults.
func demandFaults(t *testing.T, who string, err error, want []string) {
	t.Helper()
	for _, fault := range want {
		if !errors.Is(err, job.ErrConfig) || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: error %v, want ErrConfig and %q", who, err, fault)
		}
	}
}
