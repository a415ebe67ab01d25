package pipeline_test

import (
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// gaps are rows of which every third has no value of a, in three ways.
func gaps(n int, encoded job.Encodings) *lake {
	l := newLake(waves(n, 0.2, 9), n/3, n-n/3)
	l.encoded = encoded
	for i := 0; i < n; i += 3 {
		l.columns[0][i] = []float64{math.NaN(), math.Inf(1), 1e31}[i/3%3]
	}
	return l
}

// The value that stands for a missing one follows from prior rows or the job, is in the model, and
// rows without a value are predicted and certified like those that have it.
func TestFilled(t *testing.T) {
	half := 0.5
	for name, of := range map[string]job.Encoding{
		"median":           {Column: "a", Scaled: true, Fill: &job.Fill{}},
		"number":           {Column: "a", Scaled: true, Fill: &job.Fill{With: &half}},
		"median and flag":  {Column: "a", Scaled: true, Fill: &job.Fill{Flag: true}},
		"levels of a null": {Column: "a", Fill: &job.Fill{With: &half}},
		"phase and flag":   {Column: "a", Cyclic: []float64{1}, Fill: &job.Fill{Flag: true}},
	} {
		t.Run(name, func(t *testing.T) {
			l := gaps(300, job.Encodings{of})
			p := publish(t, l, func(j *job.Job) { tiny(j); j.Encode = l.encoded })
			m := p.result.Model
			with, flagged := *m.Meta.Encode[0].Fill.With, of.Fill.Flag
			below := len(slices.DeleteFunc(slices.Clone(l.columns[0]), func(v float64) bool { return !(v < with) }))
			if of.Fill.With != nil && with != half || of.Fill.With == nil && (!slices.Contains(l.columns[0], with) || below < 80 || below > 120) {
				t.Errorf("%v stands for missing values", with)
			}
			for _, rows := range []*lake{l, nil} {
				_, err := p.verify(t, p.certificate, m, p.result.ArtifactRef.Model, rows)
				fatal.If(t, err)
			}
			ready, err := pipeline.NewReady(m, 1)
			fatal.If(t, err)
			defer ready.Close()
			missing, err := ready.Row([]float64{math.NaN(), 0.8})
			fatal.If(t, err)
			there, err := ready.Row([]float64{with, 0.8})
			fatal.If(t, err)
			if missing.Reason != "" || (missing.Mean == there.Mean) == flagged {
				t.Errorf("%+v without a value, and %+v", missing, there)
			}
			if bad, err := ready.Row([]float64{with, math.NaN()}); err != nil || bad.Reason != "b is NaN" {
				t.Errorf("of another column: %+v, %v", bad, err)
			}
			changed := m
			changed.Meta.Encode = slices.Clone(m.Meta.Encode)
			other := with + 1
			changed.Meta.Encode[0].Fill = &job.Fill{With: &other, Flag: flagged}
			digest, err := p.store.PutModel(t.Context(), changed)
			fatal.If(t, err)
			forged := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Model.Digest = digest })
			p.refused(t, "another number for missing values", forged, changed, digest, l)
		})
	}
}
