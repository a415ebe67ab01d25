package pipeline_test

import (
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// anyTolerance asks for every tolerance at once.
func anyTolerance(j *job.Job) {
	tiny(j)
	j.Loss, j.Split.Holdout, j.Guarantees = job.LossDecl{Tolerance: certify.AnyTolerance}, 0.3, nil
}

// A job without a tolerance gets a curve, which is verified with and without rows; half of the held-out rows
// rows and more lie within the tolerances that the curve promises for fresh ones.
func TestCurveThroughThePipeline(t *testing.T) {
	l := newLake(waves(900, 0.2, 4), 400, 500)
	p := publish(t, l, func(j *job.Job) { anyTolerance(j); j.Inducing, j.Train.Passes = []int{20}, 20 })
	g, ok := p.certificate.Claim(certify.ClaimCurve)
	if !ok || g.Status != certify.StatusCertified || p.certificate.Loss.Kind != certify.LossZeroOne || len(g.Curve.Steps) < 20 {
		t.Fatalf("%t, %+v", ok, g)
	}
	for _, rows := range []*lake{l, nil} {
		_, err := p.verify(t, p.certificate, p.result.Model, p.result.ArtifactRef.Model, rows)
		fatal.If(t, err)
	}
	off := errorsOf(t, p.result.Model, l, 900, 0.3)
	for i, s := range g.Curve.Steps {
		beyond := int64(0)
		for _, e := range off {
			if e+p.certificate.Model.Accuracy > s.Tolerance {
				beyond++
			}
		}
		if beyond != s.Misses {
			t.Errorf("step %d at %g has %d rows, want %d", i, s.Tolerance, s.Misses, beyond)
		}
	}
	forged := forge(t, p.certificate, func(ev *certify.Evidence) {
		beyond := ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout).Beyond
		for i := 330; i < len(beyond); i++ {
			beyond[i] = 0
		}
	})
	wider := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Constant.HalfWidth *= 1 + 1e-15 })
	for name, c := range map[string]certify.Certificate{"fewer rows far out": forged, "a wider interval of the constant": wider} {
		p.refused(t, "a curve with "+name, c, p.result.Model, p.result.ArtifactRef.Model, l)
	}
	noise := publish(t, newLake(waves(900, 9, 4), 900), anyTolerance) // an interval as wide as the constant's promises nothing useful
	if g, _ := noise.certificate.Claim(certify.ClaimCurve); g.Status != certify.StatusVacuous {
		t.Errorf("of noise: %+v", g)
	}
	least, _ := g.Curve.Within(certify.CurveShare)
	narrow := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Constant.HalfWidth = least })
	if g, _ := narrow.Claim(certify.ClaimCurve); g.Status != certify.StatusVacuous {
		t.Errorf("next to a constant whose interval is as narrow: %s", g.Status)
	}
}

// errorsOf are the errors of the mean on held-out rows.
func errorsOf(t *testing.T, m pass.Model, l *lake, n int64, share float64) (off []float64) {
	t.Helper()
	src, err := l.open(t.Context(), m.Meta.Inputs())
	fatal.If(t, err)
	var all []pipeline.Prediction
	fatal.If(t, pipeline.Predict(t.Context(), src, m, 1, func(batch []pipeline.Prediction) error {
		all = append(all, batch...)
		return nil
	}))
	r := splitOf(n, share)
	for _, i := range holdoutRows(r, 77) {
		off = append(off, math.Abs(all[i].Mean-l.columns[len(l.columns)-1][i]))
	}
	return off
}

// After a curve no further use of its rows has a price. A count beforehand is one use; other rows are free of it.
func TestCurveEndsReuse(t *testing.T) {
	l, other := newLake(waves(400, 0.2, 4), 150, 250), newLake(waves(400, 0.2, 9), 150, 250)
	log := &pipelinetest.Store{}
	curve := func(j *job.Job) {
		j.Guarantees = []certify.MethodID{certify.MethodPACBayes, certify.MethodCurve}
	}
	count := func(*job.Job) {}
	for _, c := range []struct {
		name  string
		on    *lake
		what  func(*job.Job)
		ended bool
		uses  int
	}{
		{"a count", l, count, false, 0},
		{"the curve of the same model", l, curve, false, 1},
		{"the same curve again", l, curve, false, 1},
		{"the same count again", l, count, false, 0},
		{"another count", l, func(j *job.Job) { j.Train.Seed = 5 }, true, 2},
		{"other rows", other, curve, false, 0},
	} {
		got := reuser(t, log, c.on, c.what, 0)
		reuse := got.Delta.Reuse
		if reuse == nil {
			reuse = &certify.Reuse{}
		}
		if reuse.Ended != c.ended || len(reuse.Earlier) != c.uses {
			t.Errorf("%s: %+v, want ended %t after %d uses", c.name, reuse, c.ended, c.uses)
		}
		for _, g := range got.Claims {
			if c.ended && g.Subset == certify.SubsetHoldout && (g.Status != certify.StatusVoid || g.Bound != 1) {
				t.Errorf("%s: %s is %s, %g", c.name, g.ID, g.Status, g.Bound)
			}
		}
	}
}
