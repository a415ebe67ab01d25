package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// logged is a lake whose shards are segments of a topic, from an offset on.
type logged struct {
	dataset.Source

	from int64
}

func (l logged) Shards() []dataset.Shard {
	all := l.Source.Shards()
	for i := range all {
		first := l.from + all[i].First
		all[i].Segment = &dataset.Segment{Topic: "rows", First: first, End: first + all[i].Rows, Rows: all[i].Rows}
	}
	return all
}

// window is an environment of rows that stand in a topic from an offset on.
func (l *lake) window(store *pipelinetest.Store, from int64, parent *fit.Parent) fit.Environment {
	env := l.environment(store)
	env.Parent = parent
	env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
		src, err := l.open(ctx, features)
		return logged{src, from}, err
	}
	return env
}

func parentOf(r *pipeline.Result) *fit.Parent {
	return &fit.Parent{Parent: certify.Parent{Certificate: r.ID, Model: r.ArtifactRef.Model, Rows: r.Certificate.Seen()}, From: r.Model}
}

// heldApart keeps a tenth of the rows apart.
func heldApart(j *job.Job) {
	j.Split.Holdout = 0.1
	j.Guarantees = []certify.MethodID{certify.MethodPACBayes, certify.MethodHoldout}
}

// TestWarmStart: a second window begins with the model of the first, which its certificate
// names with all rows that it has seen; whatever the workers it is the same, a checkpoint of
// another beginning is not gone on with, and training again asks for that model.
func TestWarmStart(t *testing.T) {
	for name, change := range map[string]func(*job.Job){
		"mini-batch": func(*job.Job) {}, "held-out": heldApart,
		"isotropic": func(j *job.Job) { j.Kernel.Isotropic = true },
	} {
		t.Run(name, func(t *testing.T) {
			j := testJob(t, func(j *job.Job) {
				tiny(j)
				change(j)
				j.Train.WarmStart = true
			})
			first, second := newLake(waves(480, 0.1, 7), 160, 320), newLake(waves(480, 0.1, 8), 240, 240)
			for i := range second.columns[0] { // in other units, as it were
				second.columns[0][i], second.columns[2][i] = 3*second.columns[0][i]+1, 2*second.columns[2][i]-5
			}
			var one, two pipelinetest.Store
			from := parentOf(run(t, j, first.window(&one, 0, nil)))
			r := run(t, j, second.window(&two, 480, from))
			a := r.Certificate.Publisher.Training.Parent
			if a == nil || a.Certificate != from.Certificate || len(a.Rows) != 1 || a.Rows[0] != (certify.Span{Topic: "rows", First: 0, End: 480}) {
				t.Fatalf("the parent is %+v", a)
			}
			if seen := r.Certificate.Seen(); len(seen) != 1 || seen[0].End != 960 {
				t.Errorf("the next window's parent has seen %+v", seen)
			}
			var three pipelinetest.Store
			env := second.window(&three, 480, nil)
			without := run(t, j, env)
			if without.ArtifactRef.Model == r.ArtifactRef.Model {
				t.Error("the parent changes nothing")
			}
			env.Parent = from // with the checkpoint of the other beginning
			env.Resources = job.Resources{Workers: 3, Memory: 1}
			if again := run(t, j, env); again.Training.Resumed || again.ArtifactRef.Model != r.ArtifactRef.Model || name != "held-out" && !bytes.Equal(three.Certificates[1], two.Certificates[0]) { // the same held-out rows pay for their first use
				t.Errorf("begun again with the parent it is another certificate, resumed: %t", again.Training.Resumed)
			}
			open := func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
				return env.Open(ctx, want.Features)
			}
			v, err := pipeline.Verify(t.Context(), r.Certificate, r.Model, r.ArtifactRef.Model, open, job.Resources{})
			fatal.If(t, err)
			var store pipelinetest.Store
			digestOf := func(m pass.Model) (string, error) { return store.PutModel(t.Context(), m) }
			for _, given := range []struct {
				model *pass.Model
				want  error
			}{{nil, pipeline.ErrNotRepeatable}, {&r.Model, job.ErrRefused}, {&from.From, nil}} {
				if err := v.Retrain(t.Context(), open, digestOf, given.model, "pacsgp test", job.Resources{}, job.Observer{}); !errors.Is(err, given.want) {
					t.Errorf("training again: %v, want %v", err, given.want)
				}
			}
			if r.Certificate.Counts.Holdout > 0 && !slices.Contains(v.NotChecked(), assumption(r.Certificate, certify.AssumeHoldoutUnseen)) {
				t.Error("what the parent has seen is not known from training again")
			}
		})
	}
}

// TestWarmStartSeesNoHoldoutRow: with held-out rows a model that has seen rows of the sample,
// or of which that cannot be known, is refused; and no certificate can say otherwise.
func TestWarmStartSeesNoHoldoutRow(t *testing.T) {
	j := testJob(t, func(j *job.Job) { tiny(j); heldApart(j); j.Train.WarmStart = true })
	l := newLake(waves(480, 0.1, 7), 160, 320)
	var store pipelinetest.Store
	first := run(t, j, l.window(&store, 0, nil))
	from := parentOf(first)
	for name, env := range map[string]fit.Environment{
		"overlapping": l.window(&pipelinetest.Store{}, 479, from), "of no log": l.environment(&pipelinetest.Store{}),
	} {
		env.Parent = from
		if _, err := pipeline.Run(t.Context(), j, env); !errors.Is(err, job.ErrConfig) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	ev := evidence(first.Certificate)
	ev.Publisher.Training.Parent = &from.Parent
	if _, err := certify.Certify(ev); err == nil {
		t.Error("a certificate names a parent that has seen its held-out rows")
	}
	for name, spans := range map[string][]certify.Span{
		"none": nil, "turned": {{Topic: "rows", First: 490, End: 480}}, "touching": {{Topic: "rows", First: 480, End: 490}, {Topic: "rows", First: 490, End: 500}},
	} {
		ev.Publisher.Training.Parent = &certify.Parent{Certificate: from.Certificate, Model: from.Model, Rows: spans}
		if _, err := certify.Certify(ev); err == nil {
			t.Errorf("%s: rows of a parent that are none are taken", name)
		}
	}
}

// TestStartValuesInOtherScalesAreTheSameFunctions: of a posterior that is taken to other
// scales means and variances are the same in raw units; with another centre of the target
// the means at the inducing points are.
func TestStartValuesInOtherScalesAreTheSameFunctions(t *testing.T) {
	p := publish(t, newLake(waves(300, 0.1, 7), 300), tiny)
	m := p.result.Model
	scale := func(a job.Affine, centre, by float64) job.Affine {
		return job.Affine{Name: a.Name, Centre: a.Centre + centre, Scale: a.Scale * by}
	}
	features := []job.Affine{scale(m.Meta.Features[0], 0.3, 2), scale(m.Meta.Features[1], -1, 0.7)}
	rows := make([][2]float64, 0, 30)
	for i := range 20 {
		rows = append(rows, [2]float64{p.lake.columns[0][i], p.lake.columns[1][i]})
	}
	raw := func(posterior *model.Posterior, features []job.Affine, target job.Affine, rows [][2]float64) (means, deviations []float64) {
		t.Helper()
		predictor, err := model.NewPredictor(posterior, 1)
		fatal.If(t, err)
		defer predictor.Close()
		x, mean, variance := make([]float64, 0, 2*len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
		for _, r := range rows {
			x = append(x, (r[0]-features[0].Centre)/features[0].Scale, (r[1]-features[1].Centre)/features[1].Scale)
		}
		fatal.If(t, predictor.Predict(x, mean, variance))
		for i := range mean {
			means, deviations = append(means, mean[i]*target.Scale+target.Centre), append(deviations, math.Sqrt(variance[i])*target.Scale)
		}
		return means, deviations
	}
	for name, target := range map[string]job.Affine{"scale": scale(m.Meta.Target, 0, 3), "centre": scale(m.Meta.Target, 2, 0.5)} {
		q, err := fit.ScaledAs(m, features, target)
		fatal.If(t, err)
		at, within := rows, 1e-6
		if name == "centre" { // the constant goes through the inducing points, but for the jitter
			at, within = nil, 1e-3
			for i := range m.Posterior.Inducing() {
				z := m.Posterior.Z[2*i : 2*i+2]
				at = append(at, [2]float64{z[0]*m.Meta.Features[0].Scale + m.Meta.Features[0].Centre, z[1]*m.Meta.Features[1].Scale + m.Meta.Features[1].Centre})
			}
		}
		means, deviations := raw(m.Posterior, m.Meta.Features, m.Meta.Target, at)
		others, spread := raw(q, features, target, at)
		for i := range means {
			if !(math.Abs(means[i]-others[i]) <= within) || !(math.Abs(deviations[i]-spread[i]) <= within) {
				t.Errorf("another %s: row %d is %v ± %v, and was %v ± %v", name, i, others[i], spread[i], means[i], deviations[i])
			}
		}
	}
}
