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

func job(t testing.TB, change func(*pipeline.Job)) pipeline.Job {
	t.Helper()
	j := pipeline.Job{
		Target: "y", Loss: pipeline.LossDecl{EpsilonStd: 0.6}, Delta: 0.01, Inducing: []int{20},
		Guarantees: []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}}, // whatever the number of rows
	}
	if change != nil {
		change(&j)
	}
	j, err := j.WithDefaults()
	fatal.If(t, err)
	return j
}

func environment(src pipeline.Source, store *pipelinetest.Store) pipeline.Environment {
	return pipeline.Environment{
		Open: func(context.Context, []string) (pipeline.Source, error) { return src, nil },
		Sink: store, Attempts: store, Checkpoints: store, Software: "pacsgp test",
	}
}

func run(t testing.TB, j pipeline.Job, env pipeline.Environment) *pipeline.Result {
	t.Helper()
	r, err := pipeline.Run(t.Context(), j, env)
	fatal.If(t, err)
	return r
}

func TestRunCertifies(t *testing.T) {
	var store pipelinetest.Store
	r := run(t, job(t, nil), environment(source(waves(600, 0.1, 1), 250, 350), &store))
	draw, _ := r.Certificate.Guarantee(certify.GuaranteeDraw)
	if draw.Status != certify.StatusCertified || !(draw.Bound < 0.5) {
		t.Errorf("bound = %v (%s), want a certified one below 0.5: %s", draw.Bound, draw.Status, draw.Statement)
	}
	if draw.N != 570-30 && draw.N != 600-60 {
		t.Errorf("N = %d, want 540: a tenth of 600 rows are reference rows", draw.N)
	}
	if len(store.Certificates) != 1 || store.State == nil {
		t.Errorf("%d certificates, checkpoint of %d bytes: want 1, and a checkpoint until the caller clears it", len(store.Certificates), len(store.State))
	}
}

func TestSameBytes(t *testing.T) {
	columns := waves(900, 0.2, 2)
	j := job(t, func(j *pipeline.Job) { j.Train.Mode, j.Train.Batch, j.Train.Buffer = pipeline.TrainMiniBatch, 200, 300 })
	var want []byte
	for _, res := range []pipeline.Resources{{Workers: 1}, {Workers: 2}, {Workers: 3, Memory: 1}, {Workers: 1, Memory: 1}} {
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
	j := job(t, func(j *pipeline.Job) {
		j.Train.Mode, j.Train.Batch, j.Inducing = pipeline.TrainMiniBatch, 150, []int{5, 12}
	})
	var whole pipelinetest.Store
	steps := 0
	env := environment(source(columns, 400, 300), &whole)
	env.Observer.Progress = func(pipeline.Progress) { steps++ }
	run(t, j, env)

	var store pipelinetest.Store
	stopped := errors.New("stopped")
	for stop := 2; ; stop += 7 {
		ctx, cancel := context.WithCancelCause(t.Context())
		env := environment(source(columns, 400, 300), &store)
		env.Resources.Checkpoint = 1
		seen := 0
		env.Observer.Progress = func(pipeline.Progress) {
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

// What a run needs and does not have is told before anything is read: all of it at once.
func TestRunNeedsItsEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*pipeline.Environment)
		field  string
	}{
		"source":      {func(e *pipeline.Environment) { e.Open = nil }, "Open"},
		"sink":        {func(e *pipeline.Environment) { e.Sink = nil }, "Sink"},
		"attempts":    {func(e *pipeline.Environment) { e.Attempts = nil }, "Attempts"},
		"checkpoints": {func(e *pipeline.Environment) { e.Checkpoints = nil }, "Checkpoints"},
		"software":    {func(e *pipeline.Environment) { e.Software = "" }, "Software"},
	} {
		t.Run(name, func(t *testing.T) {
			var store pipelinetest.Store
			env := environment(nil, &store)
			env.Open = func(context.Context, []string) (pipeline.Source, error) {
				t.Error("the source is opened")
				return nil, errSource
			}
			c.change(&env)
			want := []string{c.field + " of the environment is not set"}
			_, err := pipeline.Run(t.Context(), job(t, nil), env)
			demandFaults(t, "Run", err, want)
			_, err = pipeline.Fit(t.Context(), job(t, nil), env)
			demandFaults(t, "Fit", err, want)
		})
	}
	_, err := pipeline.Run(t.Context(), pipeline.Job{Target: "y"}, pipeline.Environment{})
	demandFaults(t, "Run with nothing", err, []string{
		"delta: say the confidence", "loss.epsilon: say the tolerance", "Open of", "Sink of", "Attempts of", "Checkpoints of", "Software of",
	})
}

func TestRunNeedsDefaults(t *testing.T) {
	j := pipeline.Job{Target: "y", Loss: pipeline.LossDecl{EpsilonStd: 0.6}, Delta: 0.01}
	late := job(t, nil) // a change that has a default of its own
	late.Grid = pipeline.GridDecl{}
	for name, j := range map[string]pipeline.Job{"a job": j, "a job changed later": late} {
		var store pipelinetest.Store
		env := environment(source(waves(600, 0.1, 1), 600), &store)
		_, err := pipeline.Run(t.Context(), j, env)
		demandFaults(t, name, err, []string{"its defaults are not filled in"})
		if len(store.Log) > 0 {
			t.Errorf("%s: the attempt was counted", name)
		}
	}
}

// The parts of a last pass, and training ahead, need a part of the environment each.
func TestPartsNeedTheirEnvironment(t *testing.T) {
	var store pipelinetest.Store
	env := environment(source(waves(600, 0.1, 1), 600), &store)
	h, err := pipeline.Fit(t.Context(), job(t, tiny), env)
	fatal.If(t, err)
	_, err = h.Pass(t.Context(), pipeline.Whole, pipeline.Environment{})
	demandFaults(t, "Pass", err, []string{"Open of", "Sink of"})
	pass, err := h.Pass(t.Context(), pipeline.Whole, pipeline.Environment{Open: env.Open, Sink: env.Sink})
	fatal.If(t, err)
	defer pass.Close()
	_, err = h.Certify(t.Context(), pass, pipeline.Environment{})
	demandFaults(t, "Certify", err, []string{"Sink of", "Software of"})
	if _, err := h.Certify(t.Context(), pass, pipeline.Environment{Sink: env.Sink, Software: env.Software}); err != nil {
		t.Error(err)
	}
}

// demandFaults demands an error about the declaration that tells all these faults.
func demandFaults(t *testing.T, who string, err error, want []string) {
	t.Helper()
	for _, fault := range want {
		if !errors.Is(err, pipeline.ErrConfig) || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: error %v, want ErrConfig and %q", who, err, fault)
		}
	}
}
