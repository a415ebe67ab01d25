package pipeline_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
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
		p := publish(t, newLake(columns, 150, 250), func(j *pipeline.Job) { j.Loss, j.Inducing, j.Train.Passes = loss, []int{12}, 15 })
		draw, _ := p.certificate.Guarantee(certify.GuaranteeDraw)
		if draw.Status != certify.StatusCertified && loss.Kind != certify.LossRelative || draw.Loss.Kind != loss.Kind || !(draw.Bound < 0.6) {
			t.Errorf("%+v: bound %v is %s for loss %+v", loss, draw.Bound, draw.Status, draw.Loss)
		}
		if !(draw.EmpiricalRisk.Upper < draw.Bound && draw.Bound <= draw.BoundPinsker+1e-15) {
			t.Errorf("%+v: risk %v, bound %v, Pinsker's %v are out of order", loss, draw.EmpiricalRisk.Upper, draw.Bound, draw.BoundPinsker)
		}
		// The mean of Q loses no more than twice what a draw does, on the same rows too.
		if r := p.result.Diagnostics.MeanRisk; r > 2*draw.EmpiricalRisk.Upper+1e-9 {
			t.Errorf("%+v: the mean's empirical risk %v is above twice the draw's %v", loss, r, draw.EmpiricalRisk.Upper)
		}
		if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake); err != nil {
			t.Errorf("%+v: %v", loss, err)
		}
	}
	if len(seen) != len(certify.LossKinds()) {
		t.Errorf("losses %v were run, want all of %v", seen, certify.LossKinds())
	}
}

func TestIsotropicKernelHasOneLengthscale(t *testing.T) {
	p := publish(t, newLake(waves(300, 0.1, 61)), func(j *pipeline.Job) { tiny(j); j.Kernel.Isotropic, j.Grid = true, pipeline.PaperGrid })
	draw, _ := p.certificate.Guarantee(certify.GuaranteeDraw)
	if l := p.result.Model.Meta.Lengthscales; len(p.certificate.Theta) != 2 || len(l) != 2 || l[0] != l[1] {
		t.Errorf("%d hyper-parameters, lengthscales %v: want two, and one lengthscale for both features", len(p.certificate.Theta), l)
	}
	if want := 2 * math.Log(1201); math.Abs(draw.LnInverseWeight-want) > 1e-12 {
		t.Errorf("ln 1/p is %v, want %v", draw.LnInverseWeight, want)
	}
	if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake); err != nil {
		t.Error(err)
	}
}

// Every family certifies. From a list the bound chooses, and pays ln of its length.
func TestFamilyIsChosenByTheBound(t *testing.T) {
	l, families := newLake(waves(350, 0.15, 63), 150, 200), []string{certify.KernelMatern32, certify.KernelSquaredExponential, certify.KernelMatern52}
	settings := func(names ...string) func(*pipeline.Job) {
		return func(j *pipeline.Job) {
			j.Kernel.Family, j.Grid, j.Inducing, j.Train.Passes = names, pipeline.PaperGrid, []int{14}, 8
		}
	}
	best, least := "", 1.0
	for _, name := range families {
		p := publish(t, l, settings(name))
		draw, _ := p.certificate.Guarantee(certify.GuaranteeDraw)
		if k := p.certificate.Kernel; k.Family != name || len(k.Families) != 1 || p.result.Model.Meta.Kernel != name {
			t.Errorf("a job with the kernel %s has the kernel %+v", name, k)
		}
		if draw.Status != certify.StatusCertified || math.Abs(draw.LnInverseWeight-3*math.Log(1201)) > 1e-12 {
			t.Errorf("%s: the bound %g is %s, ln 1/p is %v, want 3 ln 1201", name, draw.Bound, draw.Status, draw.LnInverseWeight)
		}
		if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if draw.Bound < least {
			best, least = name, draw.Bound
		}
	}
	p := publish(t, l, settings(families...))
	draw, _ := p.certificate.Guarantee(certify.GuaranteeDraw)
	if k := p.certificate.Kernel; k.Family != best || !slices.Equal(k.Families, families) || p.result.Training.Kernel != best {
		t.Errorf("the kernel is %+v, the record says %s: want %s, which has the lowest bound", k, p.result.Training.Kernel, best)
	}
	if want := 3*math.Log(1201) + math.Log(3); math.Abs(draw.LnInverseWeight-want) > 1e-12 || !(draw.Bound >= least) {
		t.Errorf("of three: ln 1/p is %v, want %v; the bound is %v, alone %v", draw.LnInverseWeight, want, draw.Bound, least)
	}
	if _, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake); err != nil {
		t.Error(err)
	}
}

// The default grid, with a peaked prior, pays less than a flat one where the reference rows know
// something, and what it pays is what its declared weights say.
func TestPeakedGridPaysForDistance(t *testing.T) {
	p := publish(t, newLake(waves(400, 0.1, 62)), tiny)
	draw, _ := p.certificate.Guarantee(certify.GuaranteeDraw)
	want := 0.0
	for _, x := range p.certificate.Theta {
		fall := x.Grid.Step / x.Grid.Width // both peaks together have the mass 2/(1−ρ), side by side
		peak := math.Exp(-math.Abs(float64(x.Index-x.Grid.Centre))*fall) * (1 - math.Exp(-fall)) / 2
		want -= math.Log(7./8*peak + 1./8/float64(x.Grid.Count))
	}
	if math.Abs(draw.LnInverseWeight-want) > 1e-9 {
		t.Errorf("ln 1/p is %v, want %v", draw.LnInverseWeight, want)
	}
	if flat := 3 * math.Log(49); draw.LnInverseWeight >= flat {
		t.Errorf("ln 1/p is %v, no less than a flat prior's %v", draw.LnInverseWeight, flat)
	}
}

// Of several numbers of inducing points the one with the lowest bound is taken,
// and the choice costs nothing: Q may depend on every row.
func TestBestCandidateIsChosen(t *testing.T) {
	l := newLake(waves(350, 0.15, 63), 150, 200)
	bounds := map[int]float64{}
	least := 1.0
	for _, m := range []int{2, 14, 5} {
		p := publish(t, l, func(j *pipeline.Job) { j.Inducing, j.Train.Passes = []int{m}, 8 })
		bounds[m] = p.certificate.Guarantees[0].Bound
		least = min(least, bounds[m])
	}
	var events []string
	env := l.environment(publish(t, l, tiny).store)
	env.Observer.Event = func(text string) { events = append(events, text) }
	r := run(t, job(t, func(j *pipeline.Job) { j.Inducing, j.Train.Passes = []int{2, 14, 5}, 8 }), env)
	if got := r.Certificate.Guarantees[0].Bound; got != least || bounds[r.Training.Inducing] != least {
		t.Errorf("%d inducing points with bound %v were chosen among %v", r.Training.Inducing, got, bounds)
	}
	if got := r.Model.Posterior.Inducing(); got != r.Training.Inducing {
		t.Errorf("the model has %d inducing points, the record says %d", got, r.Training.Inducing)
	}
	if words := strings.Join(events, "\n"); strings.Count(words, "inducing points: bound about") != 3 {
		t.Errorf("events are %q, want one about each candidate", words)
	}
}

// Jobs that say too little or nonsense are refused with all their faults.
func TestBadJobsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		job  pipeline.Job
		want []string
	}{
		{"nothing said", pipeline.Job{}, []string{"target", "delta: say the confidence", "epsilon: say the tolerance"}},
		{"delta", pipeline.Job{Target: "y", Delta: 1, Loss: pipeline.LossDecl{Epsilon: 1}}, []string{"delta: 1 is not between"}},
		{"NaN", pipeline.Job{Target: "y", Delta: math.NaN(), Loss: pipeline.LossDecl{Epsilon: math.NaN()}}, []string{"delta: NaN", "epsilon: NaN"}},
		{
			"families",
			pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Kernel: pipeline.KernelDecl{Family: []string{"matern", certify.KernelMatern32, certify.KernelMatern32}}},
			[]string{`kernel.family: kernel "matern" is unknown`, `kernel.family: kernel "matern-3/2" is twice in a list`},
		},
		{"no family", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Kernel: pipeline.KernelDecl{Family: []string{}}}, []string{"kernel.family: no family"}},
		{"epsilon", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: -1}}, []string{"epsilon: -1"}},
		{"no share", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Kind: "relative-zero-one"}}, []string{"loss.epsilon: the relative-zero-one loss takes a share"}},
		{"a share in deviations", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Kind: "relative-zero-one", EpsilonStd: 0.1}}, []string{"takes a share of the target"}},
		{"too large a share", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Kind: "relative-zero-one", Epsilon: 1001, Above: 1}}, []string{"at most 1000", "belong to a band"}},
		{"a share of NaN", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Kind: "relative-zero-one", Epsilon: math.NaN(), Tolerance: "any"}}, []string{"takes a share", "loss.tolerance"}},
		{"both epsilons", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1, EpsilonStd: 1}}, []string{"not both"}},
		{"target among the features", pipeline.Job{Target: "y", Features: []string{"y"}, Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}}, []string{`"y" is the target`}},
		{"inducing", pipeline.Job{Target: "y", Inducing: []int{0, 4001}, Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}}, []string{"inducing: 0", "inducing: 4001"}},
		{
			"peaked without reference rows",
			pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{EpsilonStd: 1}, Grid: pipeline.GridDecl{Prior: "peaked"}, Scaling: pipeline.Scaling{Mode: pipeline.ScalingDeclared}},
			[]string{"grid.prior", "scaling.target", "scaling.features", "loss.epsilon"},
		},
		{"scale", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Scaling: pipeline.Scaling{
			Mode: pipeline.ScalingDeclared, Features: map[string]pipeline.Affine{"a": {Scale: 0}}, Target: &pipeline.Affine{Scale: math.Inf(1)},
		}}, []string{"scaling: a:", "scaling: target:"}},
		{"names", pipeline.Job{
			Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Kind: "l2"}, Grid: pipeline.GridDecl{Prior: "cauchy"},
			Scaling: pipeline.Scaling{Mode: "some"}, Train: pipeline.TrainDecl{Mode: "fast"},
		}, []string{`loss.kind: "l2"`, `grid.prior: "cauchy"`, `scaling.mode: "some"`, `train.mode: "fast"`}},
		{
			"roles by position",
			pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Roles: pipeline.RolesDecl{By: pipeline.RolesByPosition, Reference: 1}, Scaling: pipeline.Scaling{Mode: pipeline.ScalingDeclared}},
			[]string{"roles.reference: 1 is no number", "roles.by: with declared scaling"},
		},
		{"reference rows by hash", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Roles: pipeline.RolesDecl{Reference: 100}}, []string{"roles.reference: it belongs"}},
		{"roles", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Roles: pipeline.RolesDecl{By: "last"}}, []string{`roles.by: "last"`}},
		{"train", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Train: pipeline.TrainDecl{Batch: -9, Buffer: 3, Passes: math.NaN()}}, []string{"batch -9, buffer 3", "passes"}},
		{"grid", pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}, Grid: pipeline.GridDecl{Min: 1, Max: 0, Step: math.NaN()}}, []string{"grid: min 1"}},
	} {
		_, err := c.job.WithDefaults()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one about %q", c.name, err, want)
			}
		}
	}
}
