package sink_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// A forgery is a model file and a certificate that somebody made by hand. Both
// programs read it.
type forgery struct {
	name, want string // want: what Python refuses it for; "": both may accept it
	args       []string
}

// forged writes a model and a certificate about it, of which every number and sentence
// follows from the evidence, and returns the arguments of a verifier.
func forged(t testing.TB, p published, m pass.Model, change func(ev *certify.Evidence)) []string {
	t.Helper()
	file := encode(t, m)
	ev := certifytest.Evidence(t, p.result.Certificate)
	ev.Model.Digest, ev.Model.Theta = digest.Of(file), m.Meta.Theta
	var err error
	ev.Model.KL, err = certify.GaussianKL(m.Posterior.Mean, m.Posterior.Factor, m.Posterior.Inducing())
	fatal.If(t, err)
	ev.Model.Jitter.Limit = m.Posterior.Jitter / 2
	change(&ev)
	c, err := certify.Certify(ev)
	fatal.If(t, err)
	document, err := certify.Marshal(c)
	fatal.If(t, err)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "model.parquet"), file)
	writeFile(t, filepath.Join(dir, "certificate.json"), document)
	return []string{"verify", filepath.Join(dir, "model.parquet"), filepath.Join(dir, "certificate.json"), p.data}
}

// copied is a model that shares no numbers with the original.
func copied(m pass.Model) pass.Model {
	q := *m.Posterior
	for _, numbers := range []*[]float64{&q.Z, &q.Mean, &q.L, &q.Factor} {
		*numbers = append([]float64(nil), *numbers...)
	}
	law := q
	law.Mean, law.Factor = append([]float64(nil), m.Predictive.Mean...), append([]float64(nil), m.Predictive.Factor...)
	m.Posterior, m.Predictive = &q, &law
	m.Meta.Theta = append([]certify.Parameter(nil), m.Meta.Theta...)
	return m
}

// factored makes L the factor of K_ZZ and the jitter, and reports whether the
// jitter condition is met.
func factored(t testing.TB, m *pass.Model) bool {
	t.Helper()
	q := factorised(m.Posterior)
	m.Meta.Jitter, m.Predictive.Jitter = q.Jitter, q.Jitter
	m.Predictive.Z, m.Predictive.L = q.Z, q.L
	if m.Meta.Predictor.Part == 0 {
		m.Predictive.Mean = q.Mean
	}
	bound, limit, err := q.JitterCheck()
	return err == nil && bound <= limit
}

// losses are what the last pass finds of a model on the training rows of the lake.
func losses(t testing.TB, p published, m pass.Model) (upper certify.RiskSum, unproven int64) {
	t.Helper()
	columns, prior := lakeWaves(), priorRows(p.result.Certificate)
	var x, y []float64
	for i := range columns[0] {
		if prior[i] {
			continue
		}
		for j, a := range m.Meta.Features {
			x = append(x, (columns[j][i]-a.Centre)/a.Scale)
		}
		y = append(y, (columns[2][i]-m.Meta.Target.Centre)/m.Meta.Target.Scale)
	}
	scale := m.Meta.Target.Scale
	l, err := loss.New(loss.Kind(m.Meta.Loss.Kind), m.Meta.Loss.Epsilon/scale, 0, 0, m.Meta.Target.Centre/scale)
	fatal.If(t, err)
	predictor, err := model.NewPredictor(m.Posterior, 1)
	fatal.If(t, err)
	defer predictor.Close()
	accuracy := p.result.Certificate.Model.Accuracy / scale * (1 + 0x1p-40)
	laws, hi := loss.NewLaws(len(y)), make([]float64, len(y))
	fatal.If(t, predictor.PredictLoss(l, accuracy, x, y, laws, hi))
	for i := range y {
		fatal.If(t, upper.Add(hi[i]))
		if !(laws.MeanError[i] <= accuracy) {
			unproven++
		}
	}
	return upper, unproven
}

// Models whose losses float64 gets wrong, if its errors are ignored: a point so
// far away that differences to it have no digits, points that nearly coincide under
// hardly any jitter, a law that is nearly a point. A certificate may say of them what
// was proven, and not less.
func forgedModels(t testing.TB, p published) []forgery {
	t.Helper()
	var all []forgery
	for name, change := range map[string]func(q *model.Posterior){
		"nothing":          func(*model.Posterior) {},
		"a point far away": func(q *model.Posterior) { q.Z[0], q.Z[1] = 4e14, -4e14 },
		"all points far away": func(q *model.Posterior) {
			for i := range q.Z {
				q.Z[i] += 4e14
			}
		},
		"points that coincide": func(q *model.Posterior) { q.Jitter = 1e-11; q.Z[2], q.Z[3], q.Mean[1] = q.Z[0]+1e-5, q.Z[1], 40 },
		"large weights": func(q *model.Posterior) {
			for i := range q.Mean {
				q.Mean[i] *= 1e6
			}
		},
		"a law that is a point": func(q *model.Posterior) {
			for i := range q.Factor {
				q.Factor[i] *= 1e-13
			}
		},
	} {
		m := copied(p.result.Model)
		change(m.Posterior)
		if !factored(t, &m) {
			t.Errorf("%s: the jitter condition is not met", name)
			continue
		}
		upper, unproven := losses(t, p, m)
		t.Logf("%s: risk at most %v, %d rows unproven", name, upper.Upper(), unproven)
		of := func(upper certify.RiskSum, unproven int64) []string {
			return forged(t, p, m, func(ev *certify.Evidence) {
				ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Risk, ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Unproven = upper, unproven
			})
		}
		all = append(all, forgery{name + ", as it is", "", of(upper, unproven)})
		if upper.Upper() > 1e-6 {
			less := min(1e-3, upper.Upper()/2) * float64(upper.Count()) * certify.UnitsPerLoss
			all = append(all, forgery{name + ", a smaller risk", "empirical risk is stated|not proven count 1", of(heavier(t, upper, -int64(less)), 0)})
		}
	}
	return all
}

func TestForgeriesAreRefusedByBoth(t *testing.T) {
	verifytest.Need(t)
	p := publish(t, nil)
	all := forgedModels(t, p)
	var calls [][]string
	for _, f := range all {
		calls = append(calls, f.args)
	}
	for i, r := range verifytest.Verify(t, calls) {
		f := all[i]
		_, reason, _ := strings.Cut(r.Out, "REFUSED")
		switch err := goVerifies(t, f.args); {
		case f.want == "" && err != nil && !strings.Contains(err.Error(), "posterior and rows give"): // the predictor, which is another one
			t.Errorf("%s: this program refuses it: %v", f.name, err)
		case f.want != "" && err == nil:
			t.Errorf("%s: this program accepts it", f.name)
		case f.want == "" && r.Status != 0 && r.Status != 3 && !regexp.MustCompile("stated as .*proven here|predictor: ").MatchString(reason):
			// 3 is that nothing is certified about the mean. What one program proves, the other may not be able to prove: but not contradict.
			t.Errorf("%s: Python contradicts what is proven:\n%s", f.name, r.Out)
		case f.want != "" && (r.Status != 1 || !regexp.MustCompile(f.want).MatchString(reason)):
			t.Errorf("%s: exit status %d, want 1 and %q:\n%s", f.name, r.Status, f.want, r.Out)
		}
		t.Logf("%s:%s", f.name, reason)
	}
}

// Where rounding errors of a prediction are not proven to be within the accuracy,
// there is none: both programs are conforming readers.
func TestPythonWithholdsPredictions(t *testing.T) {
	verifytest.Need(t)
	p := publish(t, nil)
	m := copied(p.result.Model)
	for i := range m.Predictive.Mean {
		m.Predictive.Mean[i] *= 1e12
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "model.parquet"), encode(t, m))
	out := verifytest.Script(t, `
import sys, numpy as np
from pacsgp.model import Model
from pacsgp.predict import Predictor, rows_for
for path in sys.argv[1:3]:
    model = Model(path)
    print([int(np.isnan(Predictor(model).of(block)[0]).sum()) for _, block in rows_for(model, sys.argv[3:])])
`, filepath.Join(dir, "model.parquet"), p.model, p.data)
	if out != "[300, 350, 250]\n[0, 0, 0]" {
		t.Errorf("rows without a prediction, of 900 and of none: %s", out)
	}
	src := pipelinetest.NewMemory([]string{"a", "b"}, lakeWaves()[:2], 900)
	err := pipeline.Predict(t.Context(), src, m, 1, func(batch []pipeline.Prediction) error {
		for _, row := range batch {
			if row.Reason == "" {
				t.Fatalf("row %d has the prediction %v", row.Ordinal, row.Mean)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
