package pipeline_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Every loss runs from rows to a certificate that verifies and says something.
func TestEveryLossCertifies(t *testing.T) {
	columns := waves(400, 0.1, 60)
	for i := range columns[2] {
		columns[2][i] += 4
	}
	seen := map[string]bool{}
	for _, loss := range kinds(1) {
		seen[string(loss.Kind)] = true
		p := publish(t, newLake(columns, 150, 250), func(j *job.Job) { j.Loss, j.Inducing, j.Train.Passes = loss, []int{12}, 15 })
		draw, _ := p.certificate.Claim(certify.ClaimDraw)
		if draw.Status != certify.StatusCertified && loss.Kind != certify.LossRelative || p.certificate.Loss.Kind != loss.Kind || !(draw.Bound < 0.6) {
			t.Errorf("%+v: bound %v is %s for loss %+v", loss, draw.Bound, draw.Status, p.certificate.Loss)
		}
		if !(*draw.Risk < draw.Bound && draw.Bound <= draw.BoundPinsker+1e-15) {
			t.Errorf("%+v: risk %v, bound %v, Pinsker's %v are out of order", loss, *draw.Risk, draw.Bound, draw.BoundPinsker)
		}
		p.accepts(t, string(loss.Kind), p.lake)
	}
	if len(seen) != len(certify.LossKinds()) {
		t.Errorf("losses %v were run, want all of %v", seen, certify.LossKinds())
	}
}

// Every family certifies. From a list the bound chooses, and pays ln of its length.
func TestFamilyIsChosenByTheBound(t *testing.T) {
	l, families := newLake(waves(350, 0.15, 63), 150, 200), certify.Families()
	settings := func(names ...string) func(*job.Job) {
		return func(j *job.Job) {
			j.Kernel.Family, j.Grid, j.Inducing, j.Train.Passes = names, job.PaperGrid, []int{14}, 8
		}
	}
	best, least := "", 1.0
	for _, name := range families {
		p := publish(t, l, settings(name))
		draw, _ := p.certificate.Claim(certify.ClaimDraw)
		if k := p.certificate.Model.Kernel; k.Family != name || len(k.Families) != 1 || p.result.Model.Meta.Kernel != name {
			t.Errorf("a job with the kernel %s has the kernel %+v", name, k)
		}
		if draw.Status != certify.StatusCertified || math.Abs(draw.LnInverseWeight-3*math.Log(1201)) > 1e-12 {
			t.Errorf("%s: the bound %g is %s, ln 1/p is %v, want 3 ln 1201", name, draw.Bound, draw.Status, draw.LnInverseWeight)
		}
		p.accepts(t, name, p.lake)
		if draw.Bound < least {
			best, least = name, draw.Bound
		}
	}
	p := publish(t, l, settings(families...))
	draw, _ := p.certificate.Claim(certify.ClaimDraw)
	if k := p.certificate.Model.Kernel; k.Family != best || !slices.Equal(k.Families, families) || p.result.Training.Kernel != best {
		t.Errorf("the kernel is %+v, the record says %s: want %s, which has the lowest bound", k, p.result.Training.Kernel, best)
	}
	if want := 3*math.Log(1201) + math.Log(float64(len(families))); math.Abs(draw.LnInverseWeight-want) > 1e-12 || !(draw.Bound >= least) {
		t.Errorf("of all: ln 1/p is %v, want %v; the bound is %v, alone %v", draw.LnInverseWeight, want, draw.Bound, least)
	}
	p.accepts(t, "what is honest", p.lake)
}

// Of several numbers of inducing points the one with the lowest bound is taken,
// and the choice costs nothing: Q may depend on every row.
func TestBestCandidateIsChosen(t *testing.T) {
	l := newLake(waves(350, 0.15, 63), 150, 200)
	bounds := map[int]float64{}
	least := 1.0
	for _, m := range []int{2, 14, 5} {
		p := publish(t, l, func(j *job.Job) { j.Inducing, j.Train.Passes = []int{m}, 8 })
		bounds[m] = p.certificate.Claims[0].Bound
		least = min(least, bounds[m])
	}
	var events []string
	env := l.environment(publish(t, l, tiny).store)
	env.Observer.Event = func(text string) { events = append(events, text) }
	r := run(t, testJob(t, func(j *job.Job) { j.Inducing, j.Train.Passes = []int{2, 14, 5}, 8 }), env)
	if got := r.Certificate.Claims[0].Bound; got != least || bounds[r.Training.Inducing] != least {
		t.Errorf("%d inducing points with bound %v were chosen among %v", r.Training.Inducing, got, bounds)
	}
	if got := r.Model.Posterior.Inducing(); got != r.Training.Inducing {
		t.Errorf("the model has %d inducing points, the record says %d", got, r.Training.Inducing)
	}
	if words := strings.Join(events, "\n"); strings.Count(words, "inducing points: bound about") != 3 {
		t.Errorf("events are %q, want one about each candidate", words)
	}
}
