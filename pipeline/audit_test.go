package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// audit verifies a certificate with its rows and audits it.
func (p *published) audit(t testing.TB, key string) (*pipeline.Audit, error) {
	t.Helper()
	open := func(ctx context.Context, want pipeline.Choice) (pipeline.Source, error) {
		return p.lake.open(ctx, want.Features)
	}
	v, err := pipeline.Verify(t.Context(), p.certificate, p.result.Model, p.result.ModelDigest, open, pipeline.Resources{})
	fatal.If(t, err)
	return v.Audit(t.Context(), open, key, pipeline.Environment{Sink: &pipelinetest.Store{}, Software: "pacsgp test"})
}

// shopped is a key under which 17 of 203 hold-out rows miss sin 2x by more than 0.4: of
// 44,000 keys the one of the fewest misses on these rows. Of all rows 18 % do.
const shopped = "13346"

// An audit contradicts a number whose key was chosen for easy rows, though training again confirms
// it, and none under the default key.
func TestAuditTellsAShoppedKey(t *testing.T) {
	columns := waves(2000, 0.3, 4)
	l := &lake{names: []string{"a", "y"}, columns: [][]float64{columns[0], columns[2]}, shards: []int{900, 1100}}
	for name, c := range map[string]struct {
		key         string
		method      certify.MethodID
		contradicts bool
	}{"shopped": {shopped, certify.MethodHoldout, true}, "default": {"", certify.MethodHoldout, false}, "a shopped curve": {shopped, certify.MethodCurve, true}} {
		p := publish(t, l, func(j *pipeline.Job) {
			withHoldout(0.1)(j)
			j.Loss, j.Inducing, j.Train.Passes, j.Roles.Key = pipeline.LossDecl{Epsilon: 0.4}, []int{12}, 40, c.key
			j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}, {ID: c.method, Weight: 9}}
		})
		a, err := p.audit(t, "auditor")
		fatal.If(t, err)
		if err := a.Verdict(); errors.Is(err, pipeline.ErrNotCertified) != c.contradicts || strings.Contains(a.Words(), "was easier") != c.contradicts {
			t.Errorf("%s: %v; %s (maker %+v, auditor %+v)", name, err, a.Words(), a.Maker, a.Own)
		}
		if own, _ := a.Result.Certificate.HeldOut(); !(own.Bound > 0.182) || a.Result.Certificate.Roles.Key != "auditor" {
			t.Errorf("%s: the auditor's certificate says %s under the key %q", name, own.Headline, a.Result.Certificate.Roles.Key)
		}
	}
}

// A job with a sweep and a place in a sequence is audited by itself, one without hold-out rows
// or with a warm start is not.
func TestAuditOfJobs(t *testing.T) {
	l := newLake(waves(500, 0.2, 4), 200, 300)
	sweep := publish(t, l, withHoldout(0.2))
	j := job(t, func(j *pipeline.Job) {
		withHoldout(0.2)(j)
		j.DeltaPolicy, j.Sweep = certify.DeltaSequence, []pipeline.Alternative{{Loss: pipeline.Tolerance{EpsilonStd: 0.7}}, {Loss: pipeline.Tolerance{EpsilonStd: 0.8}}}
	})
	fatal.If(t, pipeline.Sweep(t.Context(), j.Numbered("nights", 3), func(pipeline.Job) (pipeline.Environment, error) { return l.environment(sweep.store), nil },
		func(_ pipeline.Job, r *pipeline.Result) error {
			sweep.result, sweep.certificate = r, r.Certificate
			return nil
		}))
	a, err := sweep.audit(t, "mine")
	fatal.If(t, err)
	if d := a.Result.Certificate.Delta; d.Sequence != nil || d.Alternatives != 1 || d.Declared != j.Delta {
		t.Errorf("the auditor spends %+v", d)
	}
	if held, _ := sweep.certificate.Guarantee(certify.GuaranteeHoldout); !(a.Maker.Bound < held.Bound) {
		t.Errorf("the maker's bound with the auditor's share of delta is %v, that with a part of it %v", a.Maker.Bound, held.Bound)
	}
	if got, want := a.Result.Certificate.Guarantees[0].Loss, sweep.certificate.Guarantees[0].Loss; got.Kind != want.Kind {
		t.Errorf("the audit is about the loss %+v, want %+v", got, want)
	}
	if _, err := sweep.audit(t, "pacsgp"); !errors.Is(err, pipeline.ErrConfig) {
		t.Errorf("under the maker's key: %v", err)
	}
	if _, err := publish(t, l, tiny).audit(t, "mine"); !errors.Is(err, pipeline.ErrNotCertified) {
		t.Errorf("without hold-out rows: %v", err)
	}
}
