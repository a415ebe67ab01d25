package pipeline_test

import (
	"errors"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// repeatedly makes a small job one of a sequence.
func repeatedly(j *job.Job) {
	tiny(j)
	j.Repeated = true
}

// inSequence is a small run that makes certificate number k.
func inSequence(t *testing.T, k int64) *published {
	t.Helper()
	return publishJob(t, newLake(waves(150, 0.2, 4), 70, 80), testJob(t, repeatedly).Numbered("waves", k))
}

// The certificates of a sequence verify, and have their part of δ.
func TestSequenceVerifies(t *testing.T) {
	p := inSequence(t, 3)
	if s := p.certificate.Delta.Share(certify.MethodPACBayes); s.String() != "1/12" {
		t.Errorf("number 3 has %s of delta", s)
	}
	p.accepts(t, "what is honest", p.lake)
}

// A job that declares a sequence makes no certificate without a number, and one that
// declares none makes no certificate with one.
func TestSequenceNeedsItsNumber(t *testing.T) {
	l := newLake(waves(150, 0.2, 4), 70, 80)
	for name, j := range map[string]job.Job{"without a number": testJob(t, repeatedly), "with one": testJob(t, tiny).Numbered("waves", 1)} {
		if _, err := pipeline.Run(t.Context(), j, l.environment(&pipelinetest.Store{})); !errors.Is(err, job.ErrConfig) {
			t.Errorf("%s: Run = %v, want a fault of the job", name, err)
		}
	}
}

// What can be known of a forged position from one document: whether there is one is in the
// job. A smaller number cannot be known: only the others can tell.
func TestForgedSequenceIsRefused(t *testing.T) {
	p := inSequence(t, 9)
	for name, change := range map[string]func(*certify.Evidence){
		"not in the certificate": func(ev *certify.Evidence) { ev.Delta.Sequence = nil },
		"not in the job":         func(ev *certify.Evidence) { reword(t, ev, `,"sequence":true`, "") },
		"denied by the job":      func(ev *certify.Evidence) { reword(t, ev, `"sequence":true`, `"sequence":false`) },
	} {
		f := forge(t, p.certificate, change)
		p.refused(t, name, f, p.result.Model, p.result.ArtifactRef.Model, nil)
	}
}

// A last pass in parts makes the certificate of the same number.
func TestSequenceStandsInATrainingState(t *testing.T) {
	p := inSequence(t, 5)
	env := p.lake.environment(&pipelinetest.Store{})
	h, err := fit.Fit(t.Context(), testJob(t, repeatedly).Numbered("waves", 5), env)
	fatal.If(t, err)
	pass, err := passPart(t.Context(), h, pass.Whole, env)
	fatal.If(t, err)
	r, err := pipeline.Certify(t.Context(), h, pass, env)
	fatal.If(t, err)
	if err := pass.Close(); err != nil || r.ID != p.result.ID {
		t.Errorf("the parts give certificate %s, one process %s (%v)", r.ID, p.result.ID, err)
	}
}
