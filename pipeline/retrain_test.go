package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// retrain verifies a certificate with its rows and trains again.
func (p *published) retrain(t testing.TB, c certify.Certificate, m pass.Model, digest string, res job.Resources) (*pipeline.Verification, error) {
	t.Helper()
	open := func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
		return p.lake.open(ctx, want.Features)
	}
	v, err := pipeline.Verify(t.Context(), c, m, digest, open, job.Resources{})
	fatal.If(t, err)
	var store pipelinetest.Store
	digestOf := func(m pass.Model) (string, error) { return store.PutModel(t.Context(), m) }
	return v, v.Retrain(t.Context(), open, digestOf, nil, "pacsgp test", res, job.Observer{})
}

// memoriser is a model that knows the held-out rows by heart, and nothing else: an
// inducing point on each of them, so short a lengthscale that it tells nothing of any
// other row, and a mean through their targets.
func memoriser(t *testing.T, like pass.Model, l *lake, rows []int64) pass.Model {
	t.Helper()
	m, p := like, *like.Posterior
	m.Posterior = &p
	m.Meta.Theta = append([]certify.Parameter(nil), m.Meta.Theta...)
	last := len(m.Meta.Theta) - 1
	for i := range m.Meta.Theta {
		m.Meta.Theta[i].Index = 0
	}
	m.Meta.Theta[last].Index = 24 // a variance of 1
	m.Meta.Variance = model.Exponential(m.Meta.Theta[last].Value())
	m.Meta.Lengthscales = []float64{model.Exponential(m.Meta.Theta[0].Value()), model.Exponential(m.Meta.Theta[1].Value())}
	p.Kernel.Lengthscales, p.Kernel.Variance = m.Meta.Lengthscales, m.Meta.Variance
	n := len(rows)
	p.Z, p.Mean, p.L, p.Factor = nil, make([]float64, n), make([]float64, n*n), make([]float64, n*n)
	for _, i := range rows {
		for c, a := range m.Meta.Features {
			p.Z = append(p.Z, (l.columns[c][i]-a.Centre)/a.Scale)
		}
	}
	for i := range n {
		row := p.L[i*n : i*n+i+1]
		p.Kernel.Row(row, p.Z[2*i:2*i+2], p.Z)
		row[i] += p.Jitter
		mean := (l.columns[2][rows[i]] - m.Meta.Target.Centre) / m.Meta.Target.Scale
		for j := range i + 1 { // Cholesky, and a forward substitution for the mean
			for k := range j {
				row[j] -= row[k] * p.L[j*n+k]
			}
			if j < i {
				row[j] /= p.L[j*n+j]
				mean -= row[j] * p.Mean[j]
			}
		}
		row[i] = math.Sqrt(row[i])
		p.Mean[i], p.Factor[i*n+i] = mean/row[i], 1
	}
	m.Meta.Inducing = n
	return m
}

// Anyone who trains on the held-out rows too has a certificate from the program that says
// what is not so, and which model and rows do not contradict. It is conditional, a check
// does not take it for more, and training again refuses it.
func TestForgedTrainingIsConditionalAndRefused(t *testing.T) {
	columns := waves(300, 0.2, 4)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range columns[2] {
		columns[2][i] = rng.NormFloat64() // nothing can be learned
	}
	l := newLake(columns, 140, 160)
	split := splitOf(300, 0.3)
	declared := func(j *job.Job) {
		withHoldout(0.3)(j)
		j.Loss, j.Inducing = job.LossDecl{Epsilon: 0.3}, []int{int(split.Holdout())}
	}
	h, env, store := trainedOn(t, l, declared)
	honest, err := store.GetModel(t.Context(), h.Model)
	fatal.If(t, err)
	src, err := l.open(t.Context(), nil)
	fatal.If(t, err)
	forged, err := withPredictor(t.Context(), src, testJob(t, declared), memoriser(t, honest, l, holdoutRows(split, 300)))
	fatal.If(t, err)
	h.Model, err = store.PutModel(t.Context(), forged)
	fatal.If(t, err)
	pass, err := passPart(t.Context(), h, pass.Whole, env)
	fatal.If(t, err)
	defer pass.Close()
	r, err := pipeline.Certify(t.Context(), h, pass, env)
	fatal.If(t, err)
	held, _ := r.Certificate.Claim(certify.ClaimHoldout)
	if held.Status != certify.StatusCertified || !(held.Bound < 0.1) {
		t.Fatalf("the forgery is %s with %v: want a conditional bound below 0.1, far below the risk, 0.7", held.Status, held.Bound)
	}
	p := &published{lake: l, store: store, result: r, certificate: r.Certificate}
	v, err := p.retrain(t, r.Certificate, r.Model, r.ArtifactRef.Model, job.Resources{})
	if !errors.Is(err, job.ErrRefused) {
		t.Errorf("training again: %v, want a refusal", err)
	}
	if len(v.NotChecked()) != 4 {
		t.Errorf("the check leaves open %v", v.NotChecked())
	}
}

// Training again gives the same model, however it was trained: with how many workers, in
// one go or resumed, to its plan's end or to a time limit.
func TestRetrain(t *testing.T) {
	for name, change := range map[string]func(*job.Job){
		"plan":       func(*job.Job) {},
		"mini-batch": func(j *job.Job) { j.Train.Batch, j.Train.Buffer, j.Train.Seed = 100, 200, 7 },
		"list":       func(j *job.Job) { j.Inducing = []int{4, 8} },
		"peaked":     func(j *job.Job) { j.Grid.Prior = "peaked" },
		"time limit": func(j *job.Job) { j.Inducing, j.Train.Passes, j.Train.Time = []int{4, 8}, 30, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, newLake(waves(500, 0.2, 4), 200, 300), func(j *job.Job) { withHoldout(0.2)(j); change(j) })
			for _, res := range []job.Resources{{Workers: 1}, {Workers: 3, Memory: 1}} {
				v, err := p.retrain(t, p.certificate, p.result.Model, p.result.ArtifactRef.Model, res)
				fatal.If(t, err)
				if open := v.NotChecked(); slices.ContainsFunc(open, func(a certify.Assumption) bool { return a.Checked != certify.CheckNone }) {
					t.Errorf("open %v", open)
				}
			}
			if stopped := p.certificate.Publisher.Training.StoppedAfter; (stopped > 0) != (name == "time limit") {
				t.Errorf("stopped after %d steps", stopped)
			}
		})
	}
}

// A run that was stopped at a time limit, and before it again and again, is trained
// again in one go.
func TestRetrainAfterResumedRun(t *testing.T) {
	l := newLake(waves(500, 0.2, 4), 200, 300)
	j := testJob(t, func(j *job.Job) {
		withHoldout(0.2)(j)
		j.Inducing, j.Train.Passes, j.Train.Time = []int{4, 8}, 50, job.Seconds(20e6)
	})
	store := &pipelinetest.Store{}
	var r *pipeline.Result
	for stop := 3; r == nil; stop += 3 {
		ctx, cancel := context.WithCancel(t.Context())
		env := l.environment(store)
		env.Resources.Checkpoint = 1
		seen := 0
		env.Observer.Progress = func(job.Progress) {
			if seen++; seen == stop {
				cancel()
			}
		}
		var err error
		if r, err = pipeline.Run(ctx, j, env); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cancel()
	}
	if r.Training.StoppedAfter == 0 || !r.Training.Resumed {
		t.Fatalf("stopped after %d steps, resumed %t", r.Training.StoppedAfter, r.Training.Resumed)
	}
	p := &published{lake: l, store: store, result: r, certificate: r.Certificate}
	if _, err := p.retrain(t, r.Certificate, r.Model, r.ArtifactRef.Model, job.Resources{}); err != nil {
		t.Error(err)
	}
}

// What is said of training is held to: another number of steps before the time limit, or
// one without a limit, is refused. Of another machine or program nothing can be said.
func TestRetrainHoldsToWhatIsDeclared(t *testing.T) {
	limited := publish(t, newLake(waves(500, 0.2, 4), 200, 300), func(j *job.Job) {
		withHoldout(0.2)(j)
		j.Train.Passes, j.Train.Time = 30, 1
	})
	free := publish(t, newLake(waves(500, 0.2, 4), 200, 300), withHoldout(0.2))
	for name, c := range map[string]struct {
		of     *published
		change func(*certify.Declared)
		want   error
	}{
		"other steps":                 {limited, func(d *certify.Declared) { d.Training.StoppedAfter++ }, job.ErrRefused},
		"another machine":             {limited, func(d *certify.Declared) { d.Training.Machine = "s390x/portable" }, pipeline.ErrNotRepeatable},
		"another program":             {limited, func(d *certify.Declared) { d.Training.StoppedAfter++; d.Software = "pacsgp 9" }, pipeline.ErrNotRepeatable},
		"the same by another program": {free, func(d *certify.Declared) { d.Software = "pacsgp 9" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := forge(t, c.of.certificate, func(ev *certify.Evidence) { c.change(&ev.Publisher) })
			v, err := c.of.retrain(t, f, c.of.result.Model, c.of.result.ArtifactRef.Model, job.Resources{})
			if !errors.Is(err, c.want) || slices.Contains(v.NotChecked(), assumption(f, certify.AssumeHoldoutUnseen)) == (c.want == nil) {
				t.Errorf("training again: %v, want %v", err, c.want)
			}
		})
	}
	f := forge(t, free.certificate, func(ev *certify.Evidence) { ev.Publisher.Training.StoppedAfter = 3 })
	free.refused(t, "stopped without a time limit", f, free.result.Model, free.result.ArtifactRef.Model, nil)
	if !bytes.Contains(free.document, []byte(`"machine"`)) {
		t.Error("the certificate does not name the machine")
	}
}
