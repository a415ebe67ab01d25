package pipeline_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// The predictor follows from Q and the rows: verification refuses another one, whatever a certificate for it
// says.
func TestForgedPredictorIsRefused(t *testing.T) {
	l := newLake(waves(500, 0.2, 4), 200, 300)
	h, env, store := trainedOn(t, l, withHoldout(0.3))
	honest, err := store.GetModel(t.Context(), h.Model)
	fatal.If(t, err)
	for name, forge := range map[string]func(m *pass.Model){
		"honest":  func(*pass.Model) {},
		"weights": func(m *pass.Model) { m.Predictive.Mean[1] += 1e-3 },
		"part":    func(m *pass.Model) { m.Meta.Predictor.Part = math.Abs(m.Meta.Predictor.Part - 0.25) },
		"noise":   func(m *pass.Model) { m.Meta.Predictor.Noise *= 1.01 },
		"factor":  func(m *pass.Model) { m.Meta.Predictor.Factor *= 0.99 },
		"deviation": func(m *pass.Model) {
			for i := range m.Predictive.Factor {
				m.Predictive.Factor[i] *= 0.9
			}
		},
	} {
		m, law := honest, *honest.Predictive
		law.Mean, law.Factor = slices.Clone(law.Mean), slices.Clone(law.Factor)
		m.Predictive = &law
		forge(&m)
		digest, err := store.PutModel(t.Context(), m)
		fatal.If(t, err)
		h.Model = digest
		pass, err := passPart(t.Context(), h, pass.Whole, env)
		fatal.If(t, err)
		r, err := pipeline.Certify(t.Context(), h, pass, env)
		fatal.If(t, errors.Join(err, pass.Close()))
		p := &published{lake: l, store: store, result: r, certificate: r.Certificate}
		_, err = p.verify(t, r.Certificate, r.Model, r.ArtifactRef.Model, l)
		if refused := errors.Is(err, job.ErrRefused) && strings.Contains(err.Error(), "posterior and rows give"); refused != (name != "honest") || err != nil && !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without held-out rows the mean of Q predicts, and a bound speaks of it: the files alone show another one.
func TestPredictorWithoutHoldoutRows(t *testing.T) {
	l := newLake(waves(500, 0.2, 4), 500)
	p := publish(t, l, func(*job.Job) {})
	m := p.result.Model
	if m.Meta.Predictor.Part != 0 || !slices.Equal(m.Predictive.Mean, m.Posterior.Mean) || slices.Equal(m.Predictive.Factor, m.Posterior.Factor) {
		t.Fatalf("without held-out rows the predictor is %+v", m.Meta.Predictor)
	}
	law := *m.Predictive
	law.Mean = slices.Clone(law.Mean)
	law.Mean[0]++
	m.Predictive = &law
	if _, err := p.verify(t, p.certificate, m, p.result.ArtifactRef.Model, nil); !errors.Is(err, job.ErrRefused) || !strings.Contains(err.Error(), "not the mean of Q") {
		t.Errorf("another predictor: %v", err)
	}
}

// The law of the predictor widens to that of the prior far from all rows.
func TestPredictorOffTheData(t *testing.T) {
	p := publish(t, newLake(waves(500, 0.02, 4), 500), withHoldout(0.2))
	m := p.result.Model
	ready, err := pipeline.NewReady(m, 1)
	fatal.If(t, err)
	defer ready.Close()
	prior := math.Sqrt(m.Meta.Variance) * m.Meta.Target.Scale
	for _, at := range []float64{20, 100} {
		far, err := ready.Row([]float64{m.Meta.Features[0].Centre + at*m.Meta.Features[0].Scale*max(1, m.Meta.Lengthscales[0]), 0})
		fatal.If(t, err)
		if !(far.Deviation >= 0.9*prior && far.PredictiveDeviation >= far.Deviation) || !far.Far {
			t.Errorf("at %v scales the deviation is %v, with noise %v, of a prior's %v", at, far.Deviation, far.PredictiveDeviation, prior)
		}
	}
	near, err := ready.Row([]float64{m.Meta.Features[0].Centre, m.Meta.Features[1].Centre})
	fatal.If(t, err)
	if !(near.Deviation < 0.3*prior) {
		t.Errorf("among the rows the deviation is %v, of a prior's %v", near.Deviation, prior)
	}
}

// A function without noise and a tolerance of some ten-thousandths of its spread: every row has a prediction, for the
// errors that are proven of its mean are below τ.
func TestPredictionsWithoutNoise(t *testing.T) {
	columns := waves(600, 0, 5)
	for i, a := range columns[0] {
		columns[2][i] = math.Sin(2*a) + columns[1][i]
	}
	p := publish(t, newLake(columns, 600), func(j *job.Job) {
		withHoldout(0.2)(j)
		j.Loss.EpsilonStd, j.Train.Objective, j.Inducing = 5e-5, "elbo", []int{100}
	})
	ready, err := pipeline.NewReady(p.result.Model, 1)
	fatal.If(t, err)
	defer ready.Close()
	for i := range columns[0] {
		row, err := ready.Row([]float64{columns[0][i], columns[1][i]})
		fatal.If(t, err)
		if !(row.PredictiveDeviation > 0) || row.Reason != "" {
			t.Fatalf("row %d: %+v", i, row)
		}
	}
}

// The predictor's pass gathers rows that lie scattered among others, also where they are read again, and tells of
// them.
func TestPredictorTellsOfItsRows(t *testing.T) {
	l := newLake(waves(500, 0.2, 4), 200, 300)
	var reported [][2]int64
	env := l.environment(&pipelinetest.Store{})
	env.Resources = job.Resources{Workers: 2, Memory: 1}
	env.Observer.Fitting = func(done, total int64) { reported = append(reported, [2]int64{done, total}) }
	r := run(t, testJob(t, withHoldout(0.3)), env)
	if n := r.Certificate.Counts.Training; !slices.Equal(reported, [][2]int64{{n, n}}) {
		t.Errorf("of %d training rows it reported %v", n, reported)
	}
}
