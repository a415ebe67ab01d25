package pipeline_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// reword replaces a part of the configuration that evidence holds.
func reword(t *testing.T, ev *certify.Evidence, part, by string) {
	t.Helper()
	out := bytes.Replace(ev.Job.Values, []byte(part), []byte(by), 1)
	if bytes.Equal(out, ev.Job.Values) {
		t.Fatalf("no %s in %s", part, ev.Job.Values)
	}
	var err error
	ev.Job, err = certify.State(out)
	fatal.If(t, err)
}

// A choice among families that is not paid for, and a model of one family under the name
// of another.
func TestForgedFamilyIsRefused(t *testing.T) {
	p := publish(t, newLake(waves(150, 0.2, 4), 70, 80), func(j *job.Job) {
		tiny(j)
		j.Kernel.Family = []string{certify.KernelMatern32, certify.KernelSquaredExponential}
	})
	chosen, other := certify.KernelMatern32, certify.KernelSquaredExponential
	if p.certificate.Model.Kernel.Family == other {
		chosen, other = other, chosen
	}
	list, alone := `"family":["matern-3/2","squared-exponential"]`, `"family":["`+chosen+`"]`
	renamed, digest := p.remodel(t, func(m *pass.Model) {
		family, err := kernel.Named(other)
		fatal.If(t, err)
		m.Meta.Kernel, m.Posterior.Kernel.Family = other, family
	})
	for name, c := range map[string]struct {
		change func(*certify.Evidence)
		model  pass.Model
		digest string
	}{
		"families left out of the certificate":   {func(ev *certify.Evidence) { ev.Model.Kernel.Families = []string{chosen} }, p.result.Model, p.result.ArtifactRef.Model},
		"families left out of the configuration": {func(ev *certify.Evidence) { reword(t, ev, list, alone) }, p.result.Model, p.result.ArtifactRef.Model},
		"families in another order": {func(ev *certify.Evidence) {
			ev.Model.Kernel.Families = []string{certify.KernelSquaredExponential, certify.KernelMatern32}
		}, p.result.Model, p.result.ArtifactRef.Model},
		"the other family in the certificate": {func(ev *certify.Evidence) { ev.Model.Kernel.Family = other }, p.result.Model, p.result.ArtifactRef.Model},
		"the other family in both":            {func(ev *certify.Evidence) { ev.Model.Kernel.Family, ev.Model.Digest = other, digest }, renamed, digest},
		"the other family in the model":       {func(ev *certify.Evidence) { ev.Model.Digest = digest }, renamed, digest},
		"a job without the family": {func(ev *certify.Evidence) {
			reword(t, ev, list, `"family":["`+other+`"]`)
			ev.Model.Kernel.Families, ev.Model.Kernel.Family = []string{other}, other
		}, p.result.Model, p.result.ArtifactRef.Model},
	} {
		p.refused(t, name, forge(t, p.certificate, c.change), c.model, c.digest, nil)
	}
}

// Forgery 5: a unit that is half a sentence ends the job in its first second.
func TestUnitIsAWord(t *testing.T) {
	for name, unit := range map[string]string{
		"a sentence":    "units with probability at most 0.0001. (Superseded text: it",
		"closes quotes": `m" in at most 0.01 % of fresh rows`,
		"curled":        "m\u201d",
		"too long":      strings.Repeat("m", 33),
		"reverses":      "m\u202e",
		"two lines":     "m\nCERTIFIED",
	} {
		if _, err := (job.Job{Target: "y", Delta: 0.01, Loss: job.LossDecl{Epsilon: 1, Unit: unit}}).WithDefaults(); !errors.Is(err, job.ErrConfig) {
			t.Errorf("%s: error %v, want ErrConfig", name, err)
		}
	}
	for _, name := range []string{`y" are exact, "`, `a\b`, "y\u2028", strings.Repeat("y", 129)} {
		for what, j := range map[string]job.Job{"target": {Target: name}, "feature": {Target: "y", Features: []string{name}}, "excluded": {Target: "y", Exclude: []string{name}}, "key": {Target: "y", Split: job.SplitDecl{Key: name}}} {
			j.Delta, j.Loss.Epsilon = 0.01, 1
			if _, err := j.WithDefaults(); !errors.Is(err, job.ErrConfig) {
				t.Errorf("%s %.20q: error %v, want ErrConfig", what, name, err)
			}
		}
	}
}

// Forgery 6: rules that the program does not know, in model and certificate
// alike, are refused, for it would not know what they promise.
func TestForgedRowRulesAreRefused(t *testing.T) {
	p := publish(t, newLake(waves(150, 0.2, 4), 70, 80), tiny)
	m, digest := p.remodel(t, func(m *pass.Model) { m.Meta.RowRules[0] = "rows with nulls count as predicted" })
	p.refused(t, "with other rules in the model alone", forge(t, p.certificate, func(ev *certify.Evidence) { ev.Model.Digest = digest }), m, digest, p.lake)
}

// remodel stores a changed model.
func (p *published) remodel(t *testing.T, change func(*pass.Model)) (pass.Model, string) {
	t.Helper()
	m, err := p.store.GetModel(t.Context(), p.result.ArtifactRef.Model)
	fatal.If(t, err)
	change(&m)
	digest, err := p.store.PutModel(t.Context(), m)
	fatal.If(t, err)
	return m, digest
}

// restate edits the text of the certificate: pairs of what stands there and what
// comes instead.
func (p *published) restate(t *testing.T, pairs ...string) certify.Certificate {
	t.Helper()
	c, err := certify.Parse([]byte(strings.NewReplacer(pairs...).Replace(string(p.document))))
	fatal.If(t, err)
	return c
}

// Forgery 7: targets far from the centre of the scaling do not make a
// bad constant of the baseline: pure noise stays vacuous next to it.
func TestScalingDoesNotChooseTheConstant(t *testing.T) {
	columns := waves(900, 0.2, 12)
	random := rand.New(rand.NewPCG(7, 7))
	for i := range columns[2] {
		columns[2][i] = 4 + random.NormFloat64()
	}
	p := publish(t, newLake(columns, 900), func(j *job.Job) {
		tiny(j)
		unscaled(j)
	})
	b := p.certificate.Constant
	if b.Origin != certify.OriginStart || !(math.Abs(b.Value-4) < 1) {
		t.Errorf("the constant is %v from %q, want one near the middle of the targets, from the start rows", b.Value, b.Origin)
	}
	for _, g := range p.certificate.Claims {
		if g.Status != certify.StatusVacuous {
			t.Errorf("%s on pure noise is %s: bound %v, baseline %v", g.ID, g.Status, g.Bound, g.Baseline)
		}
	}
	forged := forge(t, p.certificate, func(ev *certify.Evidence) {
		ev.Constant.Value = 0
		ev.Constant.Risk = certify.RiskSum{}
		for range ev.Counts.Training {
			fatal.If(t, ev.Constant.Risk.AddLower(1))
		}
	})
	p.refused(t, "with the centre as constant", forged, p.result.Model, p.result.ArtifactRef.Model, p.lake)
	p.accepts(t, "what is honest", p.lake)
}

// Forgery 9: of the peaks of the weights nothing can be moved for free. Two
// positions are accepted, those next to the estimate, and both are paid for; a step of
// the grid next to them is none, nor is the next position.
func TestPeaksStandInCells(t *testing.T) {
	p := publish(t, newLake(waves(200, 0.2, 9)), func(j *job.Job) {
		tiny(j)
		j.Grid = job.GridDecl{Min: -6, Max: 6, Step: 0.01, Prior: certify.PriorPeaked}
	})
	const cell = 25 // of 0.25 on a grid of 0.01
	for _, x := range p.certificate.Model.Theta {
		if at := x.Grid.Centre; at%cell != 0 && at != 1200 {
			t.Errorf("the peak of %q stands at %v, want a multiple of 0.25", x.Name, x.Grid.Value(at))
		}
	}
	accepted := 0
	for _, off := range []int{-2 * cell, -cell - 1, -cell, -1, 0, 1, cell, cell + 1, 2 * cell} {
		m := p.result.Model
		m.Meta.Theta = slices.Clone(m.Meta.Theta)
		m.Meta.Theta[0].Grid.Centre += off
		c := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Model.Theta = m.Meta.Theta })
		_, err := p.verify(t, c, m, p.result.ArtifactRef.Model, p.lake)
		switch {
		case err == nil && off%cell == 0:
			accepted++
		case !errors.Is(err, job.ErrRefused):
			t.Errorf("the peak moved by %d steps: Verify = %v, want a refusal", off, err)
		case off == 0:
			t.Errorf("the honest peak: %v", err)
		}
	}
	if accepted != 2 {
		t.Errorf("%d positions are accepted, want the two next to the estimate", accepted)
	}
}

// Forgery 10: a configuration that no run could have had, names of
// hyper-parameters of their own, and lengthscales a bit next to the grid's.
func TestWhatNothingFollowsFromIsRefused(t *testing.T) {
	p := publish(t, newLake(waves(150, 0.2, 4), 70, 80), tiny)
	for name, text := range map[string][2]string{
		"a list without its number":   {`"inducing":[5]`, `"inducing":[3]`},
		"another list":                {`"inducing":[5]`, `"inducing":[2,4]`},
		"other features":              {`"target":"y"`, `"target":"y","features":["b","a"]`},
		"an unknown key":              {`"target":"y"`, `"target":"y","nonsense":1`},
		"a key twice":                 {`"target":"y"`, `"target":"x","target":"y"`},
		"a key in another case":       {`"delta":0.01`, `"Delta":0.9,"delta":0.01`},
		"a scaling that there is not": {`"scaling":"prior"`, `"scaling":"Prior"`},
	} {
		c := forge(t, p.certificate, func(ev *certify.Evidence) { reword(t, ev, text[0], text[1]) })
		p.refused(t, name, c, p.result.Model, p.result.ArtifactRef.Model, nil)
	}
	for name, change := range map[string]func(*pass.Model){
		"a name":                  func(m *pass.Model) { m.Meta.Theta[2].Name = "ln variance of nothing at all" },
		"a lengthscale up a bit":  func(m *pass.Model) { shift(m, 9) },
		"a lengthscale down":      func(m *pass.Model) { shift(m, 0) },
		"the description's alone": func(m *pass.Model) { m.Meta.Lengthscales[0] = math.Nextafter(m.Meta.Lengthscales[0], 9) },
		"the posterior's alone": func(m *pass.Model) {
			m.Posterior.Kernel.Lengthscales = slices.Clone(m.Posterior.Kernel.Lengthscales)
			m.Posterior.Kernel.Lengthscales[0] = math.Nextafter(m.Posterior.Kernel.Lengthscales[0], 9)
		},
	} {
		m, digest := p.remodel(t, change)
		c := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Model.Digest = digest })
		p.refused(t, name, c, m, digest, nil)
	}
	software := p.restate(t, `"software": "pacsgp test"`, `"software": "pacsgp test, audited and approved by the authority"`)
	if _, err := p.verify(t, software, p.result.Model, p.result.ArtifactRef.Model, p.lake); err != nil {
		t.Errorf("what the publisher states: Verify = %v, want acceptance, for it cannot be checked", err)
	}
}

// shift moves a lengthscale to the next float64, in both parts of a model.
func shift(m *pass.Model, towards float64) {
	l := math.Nextafter(m.Meta.Lengthscales[0], towards)
	m.Meta.Lengthscales[0] = l
	m.Posterior.Kernel.Lengthscales = slices.Clone(m.Posterior.Kernel.Lengthscales)
	m.Posterior.Kernel.Lengthscales[0] = l
}

// −0 in rows and declarations is 0 in the document: readers of JSON lose its sign.
func TestNoMinusZeroInTheDocument(t *testing.T) {
	columns := waves(300, 0.2, 4)
	minus := math.Copysign(0, -1)
	for i := range columns[2] {
		if i%3 > 0 {
			columns[2][i] = minus
		}
	}
	p := publish(t, newLake(columns), func(j *job.Job) {
		tiny(j)
		j.Loss = job.LossDecl{Kind: "squared", Epsilon: 0.57}
		j.Duplicates.Policy = job.DuplicatesKept
		j.Grid = job.GridDecl{Min: minus, Max: 1, Step: 0.5}
		j.Scaling = job.ScalingNone
	})
	if bytes.Contains(p.document, []byte(": -0,")) || bytes.Contains(p.document, []byte(":-0,")) {
		t.Errorf("there is a -0 in %s", p.document)
	}
}

// Default features are all numeric columns that are not constant on the
// prior rows: a certificate that left one out was chosen among several.
func TestDroppedDefaultFeatureIsRefused(t *testing.T) {
	columns := waves(150, 0.2, 4)
	p := publish(t, newLake(columns, 70, 80), tiny)
	wider := newLake(columns, 70, 80)
	wider.names = append([]string{"0"}, wider.names...)
	wider.columns = append([][]float64{columns[1]}, wider.columns...)
	p.refused(t, "a feature that was left out", p.certificate, p.result.Model, p.result.ArtifactRef.Model, wider)
}

// The baseline is the bound of a constant that is as good as one can be had:
// the one that covers all targets, where there is one, edges included.
func TestBaselineCoversTheEdges(t *testing.T) {
	for name, c := range map[string]struct {
		loss   job.LossDecl
		values [2]float64
	}{
		"zero-one":       {job.LossDecl{Epsilon: 1}, [2]float64{0, 2}},
		"band":           {job.LossDecl{Kind: "band", Below: 5.5, Above: 1}, [2]float64{0, 6}},
		"relative":       {job.LossDecl{Kind: "relative-zero-one", Epsilon: 0.5}, [2]float64{-6, -2}},
		"decimal values": {job.LossDecl{Epsilon: 0.1}, [2]float64{0.3, 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			columns := waves(300, 0.2, 4)
			for i := range columns[2] {
				columns[2][i] = c.values[i%2]
			}
			p := publish(t, newLake(columns, 300), func(j *job.Job) { tiny(j); j.Loss = c.loss })
			if b := p.certificate.Constant; b.Risk.Lower() != 0 {
				t.Errorf("the constant %v misses %v, want none", b.Value, b.Risk.Lower())
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
	_, err := pipeline.Run(t.Context(), testJob(t, func(j *job.Job) { tiny(j); j.Loss = job.LossDecl{Epsilon: 3e-4} }), l.environment(&pipelinetest.Store{}))
	if !errors.Is(err, job.ErrData) {
		t.Errorf("Run = %v, want ErrData: a raw prediction cannot be written down", err)
	}
}

// No setting is left over: whatever is changed in the configuration, with its
// digest, is refused, but for how the optimiser went about it, which is a choice
// of Q.
func TestEveryChangeOfTheConfigurationIsRefused(t *testing.T) {
	for name, change := range map[string]func(*job.Job){
		"plain":    func(j *job.Job) { j.Loss.Unit, j.Features = "volts", []string{"a", "b"} },
		"peaked":   func(j *job.Job) { j.Grid.Prior, j.Kernel.Isotropic = "peaked", true },
		"unscaled": unscaled,
		"relative": func(j *job.Job) { j.Loss = job.LossDecl{Kind: "relative-zero-one", Epsilon: 0.1} },
	} {
		p := publish(t, newLake(waves(80, 0.2, 5), 30, 50), func(j *job.Job) { tiny(j); change(j) })
		accepted, refused := map[string]bool{}, 0
		values := p.certificate.Job.Values
		for _, s := range scalars(t, values) {
			for _, value := range s.falsified(t) {
				text := slices.Concat(values[:s.from], value, values[s.to:])
				ev := evidence(p.certificate)
				ev.Job.Values = text
				forged, err := certify.Certify(ev)
				if err == nil {
					_, err = p.verify(t, forged, p.result.Model, p.result.ArtifactRef.Model, p.lake)
				}
				if err != nil {
					refused++
				} else if !bytes.Equal(text, values) {
					accepted[s.path] = true
				}
			}
		}
		for path := range accepted {
			if path == ".inducing[0]" {
				continue // a model may have fewer points than the job lists: their number is a choice of Q
			}
			if !strings.HasPrefix(path, ".train.") || path == ".train.seed" || path == ".train.mode" {
				t.Errorf("%s: a change of the setting %s is accepted", name, path)
			}
		}
		if refused < 50 {
			t.Errorf("%s: only %d changes are refused", name, refused)
		}
	}
}
