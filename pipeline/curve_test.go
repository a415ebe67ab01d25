package pipeline_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// anyTolerance asks for every tolerance at once.
func anyTolerance(j *pipeline.Job) {
	tiny(j)
	j.Loss, j.Roles.Holdout, j.Guarantees = pipeline.LossDecl{Tolerance: pipeline.AnyTolerance}, 0.3, nil
}

// A job without a tolerance gets a curve, which is verified with and without rows; half of the hold-out
// rows and more lie within the tolerances that the curve promises for fresh ones.
func TestCurveThroughThePipeline(t *testing.T) {
	l := newLake(waves(900, 0.2, 4), 400, 500)
	p := publish(t, l, func(j *pipeline.Job) { anyTolerance(j); j.Inducing, j.Train.Passes = []int{20}, 20 })
	g, ok := p.certificate.Guarantee(certify.GuaranteeCurve)
	if !ok || g.Status != certify.StatusConditional || g.Loss.Kind != certify.LossZeroOne || len(g.Curve.Steps) < 20 {
		t.Fatalf("%t, %+v", ok, g)
	}
	for _, rows := range []*lake{l, nil} {
		_, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, rows)
		fatal.If(t, err)
	}
	off, _ := errorsOf(t, p.result.Model, l, 900, 0.3)
	for i, s := range g.Curve.Steps {
		beyond := int64(0)
		for _, e := range off {
			if e > s.Tolerance {
				beyond++
			}
		}
		if beyond != s.Misses {
			t.Errorf("step %d at %g has %d rows, want %d", i, s.Tolerance, s.Misses, beyond)
		}
	}
	forged := forge(t, p.certificate, func(ev *certify.Evidence) {
		beyond := ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout).Beyond
		for i := 330; i < len(beyond); i++ {
			beyond[i] = 0
		}
	})
	if _, err := p.verify(t, forged, p.result.Model, p.result.ModelDigest, l); !errors.Is(err, pipeline.ErrRefused) {
		t.Errorf("a curve with fewer rows far out: %v", err)
	}
}

// errorsOf are the errors of the mean on hold-out rows, and their predictive deviations. With share 0
// they are those of all rows.
func errorsOf(t *testing.T, m pipeline.Model, l *lake, n int64, share float64) (off, deviations []float64) {
	t.Helper()
	src, err := l.open(t.Context(), m.Meta.Inputs())
	fatal.If(t, err)
	var all []pipeline.Prediction
	fatal.If(t, pipeline.Predict(t.Context(), src, m, 1, func(batch []pipeline.Prediction) error {
		all = append(all, batch...)
		return nil
	}))
	if share > 0 {
		r, err := pipeline.NewRolesWithHoldout("pacsgp", n, share, pipeline.OrdinalSet{})
		fatal.If(t, err)
		held := make([]pipeline.Prediction, 0, n)
		for _, i := range r.HoldoutRows(77) {
			held = append(held, all[i])
		}
		all = held
	}
	for _, p := range all {
		off, deviations = append(off, math.Abs(p.Mean-l.columns[len(l.columns)-1][p.Ordinal])), append(deviations, p.PredictiveDeviation)
	}
	return off, deviations
}

// byDeviation asks for intervals as wide as the model is unsure.
func byDeviation(j *pipeline.Job) {
	anyTolerance(j)
	j.Loss.Width, j.Loss.EpsilonStd, j.Inducing, j.Train.Passes = certify.WidthDeviation, 0.1, []int{25}, 20
}

// uneven are rows that are dense in one place and sparse in another.
func uneven(n int, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	columns := [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range n {
		x := 4 * math.Pow(rng.Float64(), 4)
		columns[0][i], columns[1][i], columns[2][i] = x, rng.Float64(), math.Sin(6*x)+0.02*rng.NormFloat64()
	}
	return columns
}

// Counts of deviations are those of whoever has the predictions alone, all certificates with fewer are
// refused, and intervals of different widths cover fresh rows.
func TestIntervalsAsWideAsTheModelIsUnsure(t *testing.T) {
	l := newLake(uneven(900, 4), 400, 500)
	p := publish(t, l, byDeviation)
	g, ok := p.certificate.Guarantee(certify.GuaranteeCurve)
	if !ok || g.Status != certify.StatusConditional || g.Loss.Width != certify.WidthDeviation || len(g.Curve.Steps) < 20 {
		t.Fatalf("%t, %+v", ok, g)
	}
	m := p.result.Model
	for _, rows := range []*lake{l, nil} {
		_, err := p.verify(t, p.certificate, m, p.result.ModelDigest, rows)
		fatal.If(t, err)
	}
	off, deviations := errorsOf(t, m, l, 900, 0.3)
	tau := p.certificate.Accuracy.Tau
	for i, s := range g.Curve.Steps {
		beyond := int64(0)
		for at, e := range off {
			if e+tau > s.Tolerance*(1-1.0/256)*deviations[at] {
				beyond++
			}
		}
		if beyond != s.Misses {
			t.Errorf("step %d at %g deviations has %d rows, want %d", i, s.Tolerance, s.Misses, beyond)
		}
	}
	fresh := newLake(uneven(4000, 5))
	off, deviations = errorsOf(t, m, fresh, 4000, 0)
	nine, ok := g.Curve.Within(0.9)
	covered, least, most := 0, math.Inf(1), 0.0
	for i, e := range off {
		if e <= nine*deviations[i] {
			covered++
		}
		least, most = min(least, deviations[i]), max(most, deviations[i])
	}
	if !ok || covered < 3600 || !(most > 3*least) {
		t.Errorf("intervals of %g deviations, from %g to %g, cover %d of 4000 rows", nine, least, most, covered)
	}
}

// Neither another width, fewer rows, nor a model with more noise passes.
func TestForgedDeviationsAreRefused(t *testing.T) {
	l := newLake(uneven(600, 4), 600)
	p := publish(t, l, byDeviation)
	plain := publish(t, l, func(j *pipeline.Job) {
		byDeviation(j)
		j.Loss.Width, j.Guarantees = "", alongside(certify.MethodHoldout, certify.MethodCurve)
	})
	noisy := p.result.Model
	noisy.Meta.Noise = &pipeline.Noise{Variance: 4 * noisy.Meta.Noise.Variance, Spread: noisy.Meta.Noise.Spread}
	mute := p.result.Model
	mute.Meta.Noise = nil
	own := func(ev *certify.Evidence) { // the count at the tolerance of the hold-out
		tally := ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout)
		misses := int64(math.Round(tally.Risk.Upper() * float64(tally.Risk.Count())))
		for i, k := range tally.Beyond {
			tally.Beyond[i] = map[int]int64{-1: max(k, misses), 0: misses, 1: min(k, misses)}[cmp.Compare(i, 320)]
		}
	}
	for name, c := range map[string]struct {
		of     *published
		model  pipeline.Model
		change func(*certify.Evidence)
	}{
		"units in place of deviations": {p, p.result.Model, func(ev *certify.Evidence) { own(ev); ev.Width = certify.WidthUnit }},
		"deviations in place of units": {plain, plain.result.Model, func(ev *certify.Evidence) { ev.Width = certify.WidthDeviation }},
		"fewer rows": {p, p.result.Model, func(ev *certify.Evidence) {
			clear(ev.Tallies.At(certify.PredictorMean, certify.RoleHoldout).Beyond[330:])
		}},
		"more noise": {p, noisy, func(*certify.Evidence) {}},
		"no noise":   {p, mute, func(*certify.Evidence) {}},
	} {
		if _, err := p.verify(t, forge(t, c.of.certificate, c.change), c.model, c.of.result.ModelDigest, l); !errors.Is(err, pipeline.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// alongside are PAC-Bayes and other methods.
func alongside(ids ...certify.MethodID) []certify.MethodWeight {
	all := []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}}
	for _, id := range ids {
		all = append(all, certify.MethodWeight{ID: id, Weight: 9})
	}
	return all
}

func TestToleranceAny(t *testing.T) {
	j := job(t, anyTolerance)
	if j.Loss.EpsilonStd != 0.6 || !j.Spends().Applies(certify.MethodCurve) || j.Spends().Applies(certify.MethodHoldout) {
		t.Errorf("%+v", j)
	}
	for name, c := range map[string]struct {
		change func(*pipeline.Job)
		says   string
	}{
		"another loss":       {func(j *pipeline.Job) { j.Loss.Kind = certify.LossSquared }, "loss.tolerance"},
		"another word":       {func(j *pipeline.Job) { j.Loss.Tolerance = "all" }, "loss.tolerance"},
		"without its method": {func(j *pipeline.Job) { j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes}} }, "needs the method curve"},
		"a curve of squares": {func(j *pipeline.Job) {
			j.Loss = pipeline.LossDecl{Kind: certify.LossSquared, Epsilon: 1}
			j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes}, {ID: certify.MethodCurve}}
		}, "goes with loss.kind zero-one"},
		"another width": {func(j *pipeline.Job) { j.Loss.Width = "wide" }, "the one value is deviation"},
		"deviations of squares": {func(j *pipeline.Job) {
			j.Loss = pipeline.LossDecl{Kind: certify.LossSquared, Epsilon: 1, Width: certify.WidthDeviation}
		}, "deviation goes with loss.kind zero-one"},
		"deviations alone": {func(j *pipeline.Job) {
			j.Loss.Width, j.Guarantees = certify.WidthDeviation, alongside(certify.MethodCurve)
		}, "takes both holdout and curve"},
		"deviations around a column": {func(j *pipeline.Job) {
			j.Loss.Width, j.Mean, j.Roles.Outside = certify.WidthDeviation, pipeline.MeanDecl{Column: "m"}, 0.3
		}, "does not go with mean.column"},
	} {
		j := pipeline.Job{Target: "y", Delta: 0.05}
		anyTolerance(&j)
		c.change(&j)
		if _, err := j.WithDefaults(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A curve ends the looks at its rows. A count beforehand is one look; jobs that were declared together,
// and other rows, are free of it.
func TestCurveEndsTheLooks(t *testing.T) {
	l, other := newLake(waves(400, 0.2, 4), 150, 250), newLake(waves(400, 0.2, 9), 150, 250)
	log := &pipelinetest.Store{}
	curve := func(j *pipeline.Job) {
		j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}, {ID: certify.MethodCurve, Weight: 1}}
	}
	count := func(*pipeline.Job) {}
	for _, c := range []struct {
		name  string
		on    *lake
		what  func(*pipeline.Job)
		ended bool
		looks int
	}{
		{"a count", l, count, false, 0},
		{"the curve of the same model", l, curve, false, 1},
		{"the same curve again", l, curve, false, 1},
		{"the same count again", l, count, false, 0},
		{"another count", l, func(j *pipeline.Job) { j.Train.Seed = 5 }, true, 2},
		{"other rows", other, curve, false, 0},
		{"the deviations of the first model", l, func(j *pipeline.Job) { j.Loss.Width, j.Guarantees = certify.WidthDeviation, nil }, true, 3},
	} {
		got := looker(t, log, c.on, c.what, 0)
		looks := got.Delta.Looks
		if looks == nil {
			looks = &certify.Looks{}
		}
		if looks.Ended != c.ended || len(looks.Earlier) != c.looks {
			t.Errorf("%s: %+v, want ended %t after %d looks", c.name, looks, c.ended, c.looks)
		}
		for _, g := range got.Guarantees {
			if c.ended && g.Role == certify.RoleHoldout && (g.Status != certify.StatusIndicative || g.Bound != 1) {
				t.Errorf("%s: %s is %s, %g", c.name, g.ID, g.Status, g.Bound)
			}
		}
	}
}
