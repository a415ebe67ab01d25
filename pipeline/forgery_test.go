package pipeline_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// reword replaces a part of the configuration that evidence holds.
func reword(t *testing.T, ev *certify.Evidence, part, by string) {
	t.Helper()
	out := bytes.Replace(ev.Configuration, []byte(part), []byte(by), 1)
	if bytes.Equal(out, ev.Configuration) {
		t.Fatalf("no %s in %s", part, ev.Configuration)
	}
	ev.Configuration = out
}

// A configuration that no run could have had carries no certificate, however
// consistent the rest is.
func TestForgedConfigurationIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*pipeline.Job)
		part, by string
	}{
		"all-rows scaling under another name": {func(j *pipeline.Job) { j.Scaling.Mode = pipeline.ScalingAllRows }, `"mode":"all-rows"`, `"mode":"Reference"`},
		"all-rows scaling without a name":     {func(j *pipeline.Job) { j.Scaling.Mode = pipeline.ScalingAllRows }, `"mode":"all-rows"`, `"mode":""`},
		"another kernel":                      {nil, `"isotropic":false`, `"isotropic":true`},
		"other features":                      {nil, `"target":"y"`, `"target":"y","features":["b","a"]`},
		"unknown key":                         {nil, `"target":"y"`, `"target":"y","nonsense":1`},
		"a key twice":                         {nil, `"target":"y"`, `"target":"x","target":"y"`},
		"a key in another case":               {nil, `"delta":0.01`, `"Delta":0.9,"delta":0.01`},
		"peaks of an isotropic kernel":        {func(j *pipeline.Job) { j.Grid.Prior, j.Kernel.Isotropic = "peaked", true }, `"isotropic":true`, `"isotropic":false`},
		"reference rows where there are none": {declared, `"mode":"declared"`, `"mode":"reference"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, newLake(waves(150, 0.2, 4), 70, 80), func(j *pipeline.Job) {
				tiny(j)
				if c.change != nil {
					c.change(j)
				}
			})
			f := forge(t, p.certificate, func(ev *certify.Evidence) {
				reword(t, ev, c.part, c.by)
				for i, a := range ev.Assumptions {
					if a.Status == certify.AssumptionBroken {
						ev.Assumptions[i].Status, ev.Assumptions[i].Diagnostic = certify.AssumptionEnforced, ""
					}
				}
			})
			if _, err := p.verify(t, f, p.result.Model, p.result.ModelDigest, p.lake); !errors.Is(err, pipeline.ErrRefused) {
				t.Errorf("Verify = %v, want a refusal", err)
			}
		})
	}
}

// One step of a coarse grid is worth step/width nats for each peak.
func TestMovedPeakIsRefused(t *testing.T) {
	p := publish(t, newLake(waves(150, 0.2, 4), 70, 80), func(j *pipeline.Job) {
		tiny(j)
		j.Grid = pipeline.GridDecl{Min: -6, Max: 6, Step: 1, Prior: "peaked", Width: 0.2}
	})
	m := p.result.Model
	f := forge(t, p.certificate, func(ev *certify.Evidence) {
		for i := range ev.Theta {
			ev.Theta[i].Grid.Centre++
		}
		m.Meta.Theta = ev.Theta
	})
	if _, err := p.verify(t, f, m, p.result.ModelDigest, p.lake); !errors.Is(err, pipeline.ErrRefused) {
		t.Errorf("Verify = %v, want a refusal", err)
	}
}

// Default features are all numeric columns that are not constant on the
// reference rows: a certificate that left one out was chosen among several.
func TestDroppedDefaultFeatureIsRefused(t *testing.T) {
	columns := waves(150, 0.2, 4)
	p := publish(t, newLake(columns, 70, 80), tiny)
	wider := newLake(columns, 70, 80)
	wider.names = append([]string{"0"}, wider.names...)
	wider.columns = append([][]float64{columns[1]}, wider.columns...)
	if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, wider); !errors.Is(err, pipeline.ErrRefused) {
		t.Errorf("Verify = %v, want a refusal", err)
	}
}

// The baseline is the bound of a constant that is as good as one can be had:
// the one that covers all targets, where there is one, edges included.
func TestBaselineCoversTheEdges(t *testing.T) {
	for name, c := range map[string]struct {
		loss   pipeline.LossDecl
		values [2]float64
	}{
		"zero-one":       {pipeline.LossDecl{Epsilon: 1}, [2]float64{0, 2}},
		"band":           {pipeline.LossDecl{Kind: "band", Below: 5.5, Above: 1}, [2]float64{0, 6}},
		"decimal values": {pipeline.LossDecl{Epsilon: 0.1}, [2]float64{0.3, 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			columns := waves(300, 0.2, 4)
			for i := range columns[2] {
				columns[2][i] = c.values[i%2]
			}
			p := publish(t, newLake(columns, 300), func(j *pipeline.Job) { tiny(j); j.Loss = c.loss })
			if b := p.certificate.Baseline; b.EmpiricalRisk.Lower != 0 {
				t.Errorf("the constant %v misses %v, want none", b.Constant, b.EmpiricalRisk.Lower)
			}
		})
	}
}

func TestTargetTooCoarseForItsTolerance(t *testing.T) {
	columns := waves(200, 0.2, 4)
	for i := range columns[2] {
		columns[2][i] = 1.6e9 + 1e-3*columns[2][i]
	}
	l := newLake(columns, 200)
	_, err := pipeline.Run(t.Context(), job(t, func(j *pipeline.Job) { tiny(j); j.Loss = pipeline.LossDecl{Epsilon: 3e-4} }), l.environment(&pipelinetest.Store{}))
	if !errors.Is(err, pipeline.ErrData) {
		t.Errorf("Run = %v, want ErrData: a raw prediction cannot be written down", err)
	}
}

func TestTimeLimitEndsTheListOfCandidates(t *testing.T) {
	p := publish(t, newLake(waves(400, 0.2, 4), 400), func(j *pipeline.Job) { j.Inducing, j.Train.Time = []int{5, 6, 7}, 1 })
	for _, step := range p.result.Training.Trace {
		if step.Inducing != 5 {
			t.Fatalf("a step with %d inducing points after the time was over", step.Inducing)
		}
	}
}
