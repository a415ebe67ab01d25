package pipeline_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// encoding declares encodings, the last of them of the column station.
func encoding(all ...job.Encoding) func(*job.Job) {
	return func(j *job.Job) {
		tiny(j)
		all[len(all)-1].Column = "station"
		j.Encode = all
	}
}

// A phase is a point of the unit circle, with the same bits everywhere.
func TestOnCircle(t *testing.T) {
	for i := range 1200 {
		revolutions := float64(i)/240 - 2
		x, y := job.OnCircle(revolutions)
		s, c := math.Sincos(2 * math.Pi * (revolutions - math.Floor(revolutions) - 0.5))
		if !(math.Abs(x-c) <= 1e-14 && math.Abs(y-s) <= 1e-14) {
			t.Errorf("%v revolutions are at %v, %v, want %v, %v", revolutions, x, y, c, s)
		}
	}
	if x, y := job.OnCircle(13.0 / 24); x != 0x1.ee8dd4748bf15p-1 || y != 0x1.0907dc193068cp-2 { // computed by the Python package
		t.Errorf("13 hours are at %v, %v", x, y)
	}
}

// A model has the encodings of the job, with one hyper-parameter a feature. It is verified, and predicts
// raw rows.
func TestEncodings(t *testing.T) {
	l := stations(900)
	for name, c := range map[string]struct {
		of     job.Encoding
		want   job.Encoding
		inputs []float64 // of station 2
	}{
		"levels of the prior rows": {job.Encoding{}, job.Encoding{OneHot: []float64{0, 1, 2}}, []float64{0, 0, 1}},
		"a period":                 {job.Encoding{Cyclic: []float64{4}}, job.Encoding{Cyclic: []float64{4}}, []float64{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, l, encoding(c.of))
			m, want := p.result.Model, c.want
			want.Column = "station"
			if diff := cmp.Diff(job.Encodings{want}, m.Meta.Encode); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if f := m.Meta.Features[2]; f.Centre != 0 || f.Scale != 1 || len(m.Meta.Theta) != 4 || m.Posterior.Dim() != 2+len(c.inputs) {
				t.Errorf("%+v, %d hyper-parameters, %d inputs", f, len(m.Meta.Theta), m.Posterior.Dim())
			}
			for _, rows := range []*lake{l, nil} {
				_, err := p.verify(t, p.certificate, m, p.result.ArtifactRef.Model, rows)
				fatal.If(t, err)
			}
			ready, err := pipeline.NewReady(m, 1)
			fatal.If(t, err)
			defer ready.Close()
			got, err := ready.Row([]float64{0.3, 0.8, 2})
			fatal.If(t, err)
			predictor, err := model.NewPredictor(m.Posterior, 1)
			fatal.If(t, err)
			defer predictor.Close()
			a, b := m.Meta.Features[0], m.Meta.Features[1]
			x := append([]float64{(0.3 - a.Centre) / a.Scale, (0.8 - b.Centre) / b.Scale}, c.inputs...)
			mean, variance := make([]float64, 1), make([]float64, 1)
			fatal.If(t, predictor.Predict(x, mean, variance))
			if want := mean[0]*m.Meta.Target.Scale + m.Meta.Target.Centre; !(math.Abs(got.Mean-want) <= 1e-12) {
				t.Errorf("the prediction is %v, want %v", got.Mean, want)
			}
			forged := *p
			changed := m
			changed.Meta.Encode = job.Encodings{{Column: "station", OneHot: slices.Repeat([]float64{7}, m.Posterior.Dim()-2)}}
			digest, err := forged.store.PutModel(t.Context(), changed)
			fatal.If(t, err)
			with := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Model.Digest = digest })
			p.refused(t, "a model with another encoding", with, changed, digest, nil)
		})
	}
}

// declareLevels asks for the levels of prior rows where there are none.
func declareLevels(j *job.Job) {
	j.Loss, j.Grid = job.LossDecl{Epsilon: 1}, job.GridDecl{}
	j.Scaling = job.ScalingNone
}
