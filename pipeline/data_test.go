package pipeline_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// constants is a column of a hundred rows of one value.
func constants(value float64) []float64 { return slices.Repeat([]float64{value}, 100) }

// Rows that nothing can be learnt from are an error with a hint, and nothing is
// published.
func TestUnusableRowsAreErrors(t *testing.T) {
	good := waves(100, 0.1, 40)
	cut := func(n int) [][]float64 { return [][]float64{good[0][:n], good[1][:n], good[2][:n]} }
	huge := func() []float64 {
		c := constants(1e300)
		for i := range c {
			c[i] *= float64(i % 3)
		}
		return c
	}
	for _, c := range []struct {
		name    string
		columns [][]float64
		change  func(*job.Job)
		want    string
	}{
		{"no row", cut(0), tiny, "0 rows"},
		{"one row", cut(1), tiny, "1 row:"},
		{"too few rows for the scaling", cut(19), tiny, "scaling: none"},
		{"constant target", [][]float64{good[0], good[1], constants(7)}, tiny, `target "y" has one value, 7`},
		{"all features constant", [][]float64{constants(1), constants(2), good[2]}, tiny, "no feature is left"},
		{"declared feature constant", [][]float64{good[0], constants(2), good[2]}, func(j *job.Job) { tiny(j); j.Features = []string{"a", "b"} }, `feature "b" has one value, 2`},
		{"value of no use", [][]float64{huge(), good[1], good[2]}, tiny, "beyond 1e30"},
		{"NaN", [][]float64{good[0], good[1], append(slices.Clone(good[2][:99]), math.NaN())}, tiny, `row 99 (from 0), column "y"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var store pipelinetest.Store
			_, err := pipeline.Run(t.Context(), testJob(t, c.change), newLake(c.columns).environment(&store))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
			if ours := c.name != "NaN" && c.want != "beyond 1e30"; errors.Is(err, job.ErrData) || errors.Is(err, job.ErrConfig) {
				if !ours {
					t.Errorf("error %v is marked as one of the job", err)
				}
			} else if ours {
				t.Errorf("error %v is neither ErrData nor ErrConfig", err)
			}
			_, begun := store.Where()
			if log, _ := store.Log(); len(store.Models)+len(store.Certificates)+len(log.Attempts) > 0 || begun {
				t.Error("something was published")
			}
		})
	}
}

// The smallest samples that can be run give a certificate that says next to
// nothing.
func TestSmallestSamplesSayNothing(t *testing.T) {
	for n, change := range map[int]func(*job.Job){2: unscaled, 20: func(*job.Job) {}} {
		p := publish(t, newLake(waves(n, 0.1, 42)), func(j *job.Job) { tiny(j); change(j) })
		for _, g := range p.certificate.Claims {
			if g.Bound < 0.9 || g.Bound == 1 && g.Status != certify.StatusVacuous {
				t.Errorf("%d rows: guarantee %s is %s with bound %v", n, g.ID, g.Status, g.Bound)
			}
		}
	}
}

// Whatever is changed between training and last pass, one value, a row group or
// the number of rows, is detected and nothing is certified.
func TestRowsThatChangeBeforeTheLastPassAreRefused(t *testing.T) {
	for name, change := range map[string]func(columns [][]float64) *lake{
		"training row": func(c [][]float64) *lake {
			c[2][trainingRow] = math.Nextafter(c[2][trainingRow], 9)
			return newLake(c, 100, 100)
		},
		"feature":        func(c [][]float64) *lake { c[1][trainingRow] += 1e-9; return newLake(c, 100, 100) },
		"prior row":      func(c [][]float64) *lake { c[2][splitOf(200, 0).PriorRows[3]] += 1e-9; return newLake(c, 100, 100) },
		"rows exchanged": func(c [][]float64) *lake { swap(c, trainingRow, trainingRow+1); return newLake(c, 100, 100) },
		"row groups":     func(c [][]float64) *lake { return newLake(c, 99, 101) },
		"a row less":     func(c [][]float64) *lake { return newLake([][]float64{c[0][:199], c[1][:199], c[2][:199]}, 100, 99) },
	} {
		t.Run(name, func(t *testing.T) {
			before, after := newLake(waves(200, 0.1, 43), 100, 100), change(waves(200, 0.1, 43))
			var store pipelinetest.Store
			env := before.environment(&store)
			opened := 0
			env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
				if opened++; opened == 1 {
					return before.open(ctx, features)
				}
				return after.open(ctx, features)
			}
			_, err := pipeline.Run(t.Context(), testJob(t, tiny), env)
			if !errors.Is(err, job.ErrChanged) {
				t.Errorf("error %v, want ErrChanged", err)
			}
			if log, err := store.Log(); err != nil || len(store.Certificates) != 0 || len(log.Attempts) != 1 {
				t.Errorf("%d certificates were published and %d attempts counted, want none and one", len(store.Certificates), len(log.Attempts))
			}
		})
	}
}

// trainingRow and the next one are training rows of 200.
const trainingRow = 57

func swap(columns [][]float64, i, j int) {
	for _, c := range columns {
		c[i], c[j] = c[j], c[i]
	}
}

// A damagedSink reads back another model than was put.
type damagedSink struct {
	*pipelinetest.Store
	damage func(*pass.Model)
}

// GetModel returns the damaged model.
func (s damagedSink) GetModel(ctx context.Context, digest string) (pass.Model, error) {
	m, err := s.Store.GetModel(ctx, digest)
	s.damage(&m)
	return m, err
}

// The last pass works on what the sink gives back, and certifies no model whose
// numbers do not bear it: there is no certificate, or one that says that the
// jitter condition is broken, which verifies.
func TestDamagedModelsAreNotCertified(t *testing.T) {
	for name, damage := range map[string]func(*pass.Model){
		"L":             func(m *pass.Model) { m.Posterior.L[0] *= 1.01 },
		"Z":             func(m *pass.Model) { m.Posterior.Z[0] += 0.01 },
		"factor":        func(m *pass.Model) { m.Posterior.Factor[0] = math.NaN() },
		"mean":          func(m *pass.Model) { m.Posterior.Mean[2] = math.Inf(1) },
		"lengthscale":   func(m *pass.Model) { m.Meta.Lengthscales[0] *= 1.01; m.Posterior.Kernel.Lengthscales[0] *= 1.01 },
		"variance":      func(m *pass.Model) { m.Posterior.Kernel.Variance *= 1.01 },
		"index":         func(m *pass.Model) { m.Meta.Theta[0].Index++ },
		"scaling":       func(m *pass.Model) { m.Meta.Features[1].Scale *= 2 },
		"target":        func(m *pass.Model) { m.Meta.Target.Centre++ },
		"feature names": func(m *pass.Model) { m.Meta.Features[0].Name = "b"; m.Meta.Features[1].Name = "a" },
	} {
		t.Run(name, func(t *testing.T) {
			var store pipelinetest.Store
			env := newLake(waves(200, 0.1, 44)).environment(&store)
			env.Sink = damagedSink{&store, damage}
			r, err := pipeline.Run(t.Context(), testJob(t, tiny), env)
			if broken := name == "L" || name == "Z"; broken && err == nil {
				for _, g := range r.Certificate.Claims {
					if g.Status != certify.StatusVoid {
						t.Errorf("guarantee %s is %s, want indicative", g.ID, g.Status)
					}
				}
				if _, err := pipeline.Verify(t.Context(), r.Certificate, r.Model, r.ArtifactRef.Model, nil, job.Resources{}); err != nil {
					t.Errorf("the certificate that says so does not verify: %v", err)
				}
			} else if err == nil || len(store.Certificates) > 0 {
				t.Errorf("error %v, %d certificates: want an error and none", err, len(store.Certificates))
			}
		})
	}
}

// A fault of the source in the middle of any pass stops the run, which loses
// nothing but that pass: called again it gives the bytes of a run without fault.
func TestRunAfterAFaultOfTheSource(t *testing.T) {
	columns := waves(300, 0.1, 46)
	j := testJob(t, func(j *job.Job) {
		tiny(j)
		j.Train.Mode, j.Train.Batch, j.Train.Passes = job.TrainMiniBatch, 60, 2
	})
	var whole pipelinetest.Store
	run(t, j, environment(source(columns, 150, 150), &whole))

	var store pipelinetest.Store
	readings := 0
	faults := 0
	for fault := 1; ; fault += 2 {
		readings = 0
		table := source(columns, 150, 150)
		table.Table.BatchRows = 50
		src := &faulty{Source: table, batch: -1}
		src.seen = func(shard, batch int) {
			if shard == 1 && batch == 1 {
				if readings++; readings == fault {
					src.shard, src.batch = 1, 1
				}
			}
		}
		env := environment(src, &store)
		env.Resources = job.Resources{Workers: 1, Memory: streamed, Checkpoint: 1}
		_, err := pipeline.Run(t.Context(), j, env)
		if err == nil {
			break
		}
		if !errors.Is(err, errSource) {
			t.Fatalf("reading %d failed, the run's error is %v", fault, err)
		}
		faults++
	}
	if faults < 3 {
		t.Errorf("%d runs were stopped by a fault: want some in the first pass, in training and in the last pass", faults)
	}
	if len(store.Certificates) != 1 || string(store.Certificates[0]) != string(whole.Certificates[0]) {
		t.Errorf("%d certificates, or another one than without a fault", len(store.Certificates))
	}
}
