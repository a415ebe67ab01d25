package pipeline_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// byRule asks for a model that verification makes again.
func byRule(j *pipeline.Job) {
	j.Train.Method, j.Guarantees, j.Inducing = pipeline.MethodRule, nil, []int{12}
	j.Loss = pipeline.LossDecl{Epsilon: 0.6}
}

// Of a model by rule every check makes sure that training did not see the hold-out rows.
func TestModelByRuleIsMadeAgain(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 150, 250)
	p := publish(t, l, byRule)
	held, _ := p.certificate.HeldOut()
	if held.Status != certify.StatusConditional || !(held.Bound < 0.2) || p.certificate.Ledger.Holdout < 150 {
		t.Errorf("%s, a bound of %v from %d rows", held.Status, held.Bound, p.certificate.Ledger.Holdout)
	}
	i := slices.IndexFunc(p.certificate.Assumptions, func(a certify.Assumption) bool { return a.ID == certify.AssumeHoldoutUnseen })
	if a := p.certificate.Assumptions[i]; a.Status != certify.AssumptionEnforced || !p.certificate.Model.ByRule {
		t.Errorf("%s is %s", a.ID, a.Status)
	}
	v, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, l)
	fatal.If(t, err)
	if open := strings.Join(v.NotChecked(), "\n"); !v.Retrained || strings.Contains(open, "training") || strings.Contains(open, "noise") || len(v.NotChecked()) != 2 {
		t.Errorf("made again: %t, not checked: %s", v.Retrained, open)
	}
	v, err = p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, nil)
	fatal.If(t, err)
	if open := v.NotChecked(); v.Retrained || open[0] != "that training did not see the hold-out rows" {
		t.Errorf("without rows: not checked: %q", open)
	}
	var store pipelinetest.Store
	env := l.environment(&store)
	env.Resources.Workers = 2
	if again := run(t, job(t, byRule), env); again.ID != p.result.ID {
		t.Error("two workers give another certificate")
	}
}

// Hold-out rows have no part in a model by rule; every other row has.
func TestModelByRuleSeesNoHoldoutRow(t *testing.T) {
	columns := waves(400, 0.2, 4)
	one := publish(t, newLake(columns, 400), byRule)
	roles, err := pipeline.NewRolesWithHoldout("pacsgp", 400, 0.5, pipeline.OrdinalSet{})
	fatal.If(t, err)
	held := roles.HoldoutRows(400)
	for _, i := range held {
		columns[2][i] = -columns[2][i]
	}
	if two := publish(t, newLake(columns, 400), byRule); !reflect.DeepEqual(one.result.Model, two.result.Model) {
		t.Error("with other hold-out rows it is another model")
	}
	open := 0
	for slices.Contains(held, int64(open)) {
		open++
	}
	columns[2][open] += 0.1
	if two := publish(t, newLake(columns, 400), byRule); reflect.DeepEqual(one.result.Model, two.result.Model) {
		t.Error("with another row to learn from it is the same model")
	}
}

// A model that is off the rule by one bit is refused, with a certificate that it got from the
// program's own last pass.
func TestForgedModelByRuleIsRefused(t *testing.T) {
	l := newLake(waves(400, 0.2, 4), 400)
	next := func(x []float64, i int) { x[i] = math.Nextafter(x[i], 9) }
	for name, change := range map[string]func(m *pipeline.Model){
		"nothing":                 nil,
		"a bit of m":              func(m *pipeline.Model) { next(m.Posterior.Mean, 3) },
		"a bit of C":              func(m *pipeline.Model) { next(m.Posterior.Factor, 0) },
		"a bit of Z":              func(m *pipeline.Model) { next(m.Posterior.Z, 5) },
		"a bit of L":              func(m *pipeline.Model) { next(m.Posterior.L, 0) },
		"a bit of the noise":      func(m *pipeline.Model) { m.Meta.Noise.Variance = math.Nextafter(m.Meta.Noise.Variance, 9) },
		"without its noise":       func(m *pipeline.Model) { m.Meta.Noise = nil },
		"another lengthscale":     func(m *pipeline.Model) { pipelinetest.NextValue(m, 0) },
		"another signal variance": func(m *pipeline.Model) { pipelinetest.NextValue(m, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			h, env, store := handover(t, l, byRule)
			m, err := store.GetModel(t.Context(), h.Model)
			fatal.If(t, err)
			if change != nil {
				change(&m)
			}
			h.Model, err = store.PutModel(t.Context(), m)
			fatal.If(t, err)
			pass, err := h.Pass(t.Context(), pipeline.Whole, env)
			fatal.If(t, err)
			defer pass.Close()
			r, err := h.Certify(t.Context(), pass, env)
			fatal.If(t, err)
			p := &published{lake: l, store: store, result: r, certificate: r.Certificate}
			_, err = p.verify(t, r.Certificate, r.Model, r.ModelDigest, l)
			if change == nil {
				fatal.If(t, err)
			} else if !errors.Is(err, pipeline.ErrRefused) || !strings.Contains(err.Error(), "the rule makes another model") {
				t.Errorf("verify: %v, want a refusal", err)
			}
		})
	}
}
