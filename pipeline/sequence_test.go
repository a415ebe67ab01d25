package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// inSequence is a small run that makes certificate number k.
func inSequence(t *testing.T, policy certify.DeltaPolicy, k int64) *published {
	t.Helper()
	l := newLake(waves(150, 0.2, 4), 70, 80)
	p := &published{lake: l, store: &pipelinetest.Store{}}
	p.result = run(t, job(t, func(j *pipeline.Job) {
		tiny(j)
		j.DeltaPolicy = policy
	}).Numbered("waves", k), l.environment(p.store))
	p.certificate, p.document = p.result.Certificate, p.store.Certificates[0]
	return p
}

// The certificates of a sequence verify, and have their part of δ.
func TestSequenceVerifies(t *testing.T) {
	for policy, want := range map[certify.DeltaPolicy]string{certify.DeltaSequence: "1/12", certify.DeltaEach: "1"} {
		p := inSequence(t, policy, 3)
		if s := p.certificate.Delta.Share(certify.MethodPACBayes); s.String() != want {
			t.Errorf("%s: number 3 has %s of delta, want %s", policy, s, want)
		}
		if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake); err != nil {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

// With a horizon each number has as much of δ, and beyond it there is none. Both verifiers derive
// it from the job.
func TestHorizon(t *testing.T) {
	l := newLake(waves(150, 0.2, 4), 70, 80)
	p := &published{lake: l, store: &pipelinetest.Store{}}
	j := job(t, func(j *pipeline.Job) {
		tiny(j)
		j.DeltaPolicy, j.Horizon = certify.DeltaSequence, 30
	})
	p.result = run(t, j.Numbered("waves", 7), l.environment(p.store))
	p.certificate, p.document = p.result.Certificate, p.store.Certificates[0]
	if s := p.certificate.Delta.Share(certify.MethodPACBayes); s.String() != "1/30" {
		t.Errorf("number 7 of 30 has %s of delta", s)
	}
	if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake); err != nil {
		t.Error(err)
	}
	for name, horizon := range map[string]int64{"a nearer one": 7, "none": 0} {
		f := forge(t, p.certificate, func(ev *certify.Evidence) {
			own := *ev.Delta.Sequence
			own.Horizon = horizon
			ev.Delta.Sequence = &own
		})
		if _, err := p.verify(t, f, p.result.Model, p.result.ModelDigest, nil); !errors.Is(err, pipeline.ErrRefused) {
			t.Errorf("%s: Verify = %v, want a refusal", name, err)
		}
	}
	if _, err := pipeline.Run(t.Context(), j.Numbered("waves", 31), l.environment(&pipelinetest.Store{})); !errors.Is(err, pipeline.ErrConfig) || !strings.Contains(err.Error(), "all 30 certificates") {
		t.Errorf("beyond the horizon: %v", err)
	}
}

// A job that declares a sequence makes no certificate without a number, and one that
// declares none makes no certificate with one.
func TestSequenceNeedsItsNumber(t *testing.T) {
	l := newLake(waves(150, 0.2, 4), 70, 80)
	declared := job(t, func(j *pipeline.Job) {
		tiny(j)
		j.DeltaPolicy = certify.DeltaSequence
	})
	for name, j := range map[string]pipeline.Job{"without a number": declared, "with one": job(t, tiny).Numbered("waves", 1)} {
		if _, err := pipeline.Run(t.Context(), j, l.environment(&pipelinetest.Store{})); !errors.Is(err, pipeline.ErrConfig) {
			t.Errorf("%s: Run = %v, want a fault of the job", name, err)
		}
	}
}

// What can be known of a forged place from one document: the policy is the job's, and a
// job without one has no place. A smaller number cannot be known: only the others can tell.
func TestForgedSequenceIsRefused(t *testing.T) {
	p := inSequence(t, certify.DeltaSequence, 9)
	for name, change := range map[string]func(*certify.Evidence){
		"each for sequence": func(ev *certify.Evidence) { ev.Delta.Sequence.Policy = certify.DeltaEach },
		"no sequence":       func(ev *certify.Evidence) { ev.Delta.Sequence = nil },
		"no policy":         func(ev *certify.Evidence) { reword(t, ev, `,"delta_policy":"sequence"`, "") },
		"another policy":    func(ev *certify.Evidence) { reword(t, ev, `"delta_policy":"sequence"`, `"delta_policy":"each"`) },
		"unknown policy":    func(ev *certify.Evidence) { reword(t, ev, `"delta_policy":"sequence"`, `"delta_policy":"all"`) },
	} {
		f := forge(t, p.certificate, func(ev *certify.Evidence) {
			if ev.Delta.Sequence != nil {
				own := *ev.Delta.Sequence
				ev.Delta.Sequence = &own
			}
			change(ev)
		})
		if _, err := p.verify(t, f, p.result.Model, p.result.ModelDigest, nil); !errors.Is(err, pipeline.ErrRefused) {
			t.Errorf("%s: Verify = %v, want a refusal", name, err)
		}
	}
}

// A last pass in parts makes the certificate of the same number.
func TestSequenceStandsInAHandover(t *testing.T) {
	p := inSequence(t, certify.DeltaSequence, 5)
	env := p.lake.environment(&pipelinetest.Store{})
	h, err := pipeline.Fit(t.Context(), job(t, func(j *pipeline.Job) {
		tiny(j)
		j.DeltaPolicy = certify.DeltaSequence
	}).Numbered("waves", 5), env)
	fatal.If(t, err)
	pass, err := h.Pass(t.Context(), pipeline.Whole, env)
	fatal.If(t, err)
	r, err := h.Certify(t.Context(), pass, env)
	fatal.If(t, err)
	if err := pass.Close(); err != nil || r.ID != p.result.ID {
		t.Errorf("the parts give certificate %s, one process %s (%v)", r.ID, p.result.ID, err)
	}
}
