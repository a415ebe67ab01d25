package pipeline_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A meanRun is a run on a table with a column p before the target, and what it came to.
type meanRun struct {
	warnings []string
	table    pipelinetest.Memory
	result   *pipeline.Result
}

// corrected runs a job whose prior has the mean column(i, a, y).
func corrected(t *testing.T, columns [][]float64, column func(i int, a, y float64) float64, change func(*job.Job)) meanRun {
	t.Helper()
	p := make([]float64, len(columns[0]))
	for i := range p {
		p[i] = column(i, columns[0][i], columns[2][i])
	}
	r := meanRun{table: pipelinetest.NewMemory([]string{"p", "y", "a", "b"}, [][]float64{p, columns[2], columns[0], columns[1]}, 100)}
	j := testJob(t, func(j *job.Job) {
		tiny(j)
		j.Mean.Column, j.Guarantees = "p", nil
		change(j)
	})
	var store pipelinetest.Store
	env := environment(nil, &store)
	env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
		return dataset.Open(ctx, j, r.table.Table, features, job.Resources{}, nil)
	}
	env.Observer.Warning = func(text string) { r.warnings = append(r.warnings, text) }
	r.result = run(t, j, env)
	return r
}

func (r meanRun) verify(t *testing.T) *pipeline.Verification {
	t.Helper()
	v, err := pipeline.Verify(t.Context(), r.result.Certificate, r.result.Model, r.result.ArtifactRef.Model, r.table.Table.Data, job.Resources{})
	fatal.If(t, err)
	return v
}

func line(_ int, a, _ float64) float64 { return a / 2 }

func outside(j *job.Job) { j.Split.Outside, j.Split.Holdout = 0.3, 0.2 }

// A column that is the target, or of another unit, is refused before it spoils the arithmetic of training.
func TestMeanThatIsRefused(t *testing.T) {
	columns := waves(400, 0.2, 4)
	for want, of := range map[string]func(y float64) float64{
		`column "p" of the mean equals the target`: func(y float64) float64 { return y }, `"p"`: func(y float64) float64 { return 1e17 * (1 + y) },
	} {
		p := make([]float64, 400)
		for i, y := range columns[2] {
			p[i] = of(y)
		}
		table := pipelinetest.NewMemory([]string{"a", "y", "p"}, [][]float64{columns[0], columns[2], p}, 100)
		j := testJob(t, func(j *job.Job) { tiny(j); j.Mean.Column, j.Guarantees = "p", nil; outside(j) })
		env := environment(nil, &pipelinetest.Store{})
		env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
			return dataset.Open(ctx, j, table.Table, features, job.Resources{}, nil)
		}
		if _, err := pipeline.Run(t.Context(), j, env); !errors.Is(err, job.ErrData) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A column that may have been fitted on training rows leaves the held-out rows alone; one that was fitted
// on outside rows leaves all guarantees, each under an assumption that cannot be checked.
func TestMeanIsConditional(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*job.Job)
		train  certify.Status
	}{
		"anywhere": {func(*job.Job) {}, certify.StatusVoid},
		"outside":  {outside, certify.StatusCertified},
		"outside, alone": {func(j *job.Job) {
			j.Split.Outside, j.Guarantees = 0.3, []certify.MethodID{certify.MethodPACBayes}
		}, certify.StatusCertified},
	} {
		r := corrected(t, waves(900, 0.1, 4), line, func(j *job.Job) { j.Inducing, j.Train.Passes = []int{20}, 40; c.change(j) })
		cert := r.result.Certificate
		for _, g := range cert.Claims {
			want := certify.StatusCertified
			if g.Subset == certify.SubsetTraining {
				want = c.train
			}
			if g.Status != want || assumption(cert, certify.AssumeMeanFixed).Fails != (cert.Counts.Outside+cert.Counts.Holdout == 0) {
				t.Errorf("%s, %s: %s, %v; want %s, and the assumption named", name, g.ID, g.Status, cert.Assumptions, want)
			}
		}
		v := r.verify(t)
		if open := v.NotChecked(); !slices.Contains(open, assumption(cert, certify.AssumeMeanFixed)) || slices.Contains(open, certify.Assumption{ID: certify.AssumeHoldoutUnseen, Checked: certify.CheckRetraining}) != (cert.Counts.Holdout > 0) {
			t.Errorf("%s: not checked is %v", name, open)
		}
	}
}

// With a scaling that does not move, a target and a column that are raised by the same function
// leave the same rows to the process: the numbers of the model are the same, and predictions rise.
func TestMeanIsAddedBack(t *testing.T) {
	columns := waves(300, 0.1, 4)
	for i, y := range columns[2] {
		columns[2][i] = math.Round(y*1024) / 1024
	}
	raised := [][]float64{columns[0], columns[1], make([]float64, 300)}
	by := func(i int) float64 { return float64(i%7) - 3 }
	for i := range raised[2] {
		raised[2][i] = columns[2][i] + by(i)
	}
	change := func(j *job.Job) {
		j.Loss = job.LossDecl{Epsilon: 0.5}
		j.Split.Outside = 0.2
		j.Scaling = job.ScalingNone
	}
	one := corrected(t, columns, func(int, float64, float64) float64 { return 0 }, change)
	two := corrected(t, raised, func(i int, _, _ float64) float64 { return by(i) }, change)
	if p, q := one.result.Model.Posterior, two.result.Model.Posterior; !slices.Equal(p.Mean, q.Mean) || !slices.Equal(p.Factor, q.Factor) || !slices.Equal(p.L, q.L) {
		t.Error("the posteriors differ")
	}
	if d, e := one.result.Certificate, two.result.Certificate; d.Claims[0].Bound != e.Claims[0].Bound {
		t.Errorf("bounds %v and %v, want the same", d.Claims[0].Bound, e.Claims[0].Bound)
	}
	ready, err := pipeline.NewReady(two.result.Model, 1)
	fatal.If(t, err)
	defer ready.Close()
	i := 0
	src, err := two.table.Table.Open(t.Context(), dataset.Choice{Features: two.result.Model.Meta.Inputs()})
	fatal.If(t, err)
	flat := predictions(t, one)
	fatal.If(t, ready.Predict(t.Context(), src, nil, func(batch []pipeline.Prediction) error {
		for _, p := range batch {
			if want := flat[i] + by(i); math.Abs(p.Mean-want) > 1e-12 {
				t.Fatalf("row %d: %v, want %v", i, p.Mean, want)
			}
			if single, err := ready.Row([]float64{raised[0][i], raised[1][i], by(i)}); err != nil || single.Mean != p.Mean {
				t.Fatalf("row %d by itself: %v, %v, want %v", i, single.Mean, err, p.Mean)
			}
			i++
		}
		return nil
	}))
	if _, err := ready.Row([]float64{1, 2}); err == nil {
		t.Error("a row without the column is predicted")
	}
}

// A column that may have been fitted to the prior rows leaves too little of them: a warning says that
// deviations may be too small, unless they come from rows that the column has not seen.
func TestMeanThatMayKnowPriorRows(t *testing.T) {
	columns := waves(400, 0.2, 4)
	knows := func(_ int, _, y float64) float64 { return y + 1e-3*math.Sin(1e3*y) }
	within := corrected(t, columns, knows, func(*job.Job) {})
	if !slices.ContainsFunc(within.warnings, func(s string) bool { return strings.Contains(s, "too small") }) {
		t.Errorf("the warnings are %q", within.warnings)
	}
	if r := corrected(t, columns, line, outside); slices.ContainsFunc(r.warnings, func(s string) bool { return strings.Contains(s, "too small") }) {
		t.Errorf("with outside rows the warnings are %q", r.warnings)
	}
}

func predictions(t *testing.T, r meanRun) (means []float64) {
	t.Helper()
	src, err := r.table.Table.Open(t.Context(), dataset.Choice{Features: r.result.Model.Meta.Inputs()})
	fatal.If(t, err)
	fatal.If(t, pipeline.Predict(t.Context(), src, r.result.Model, 1, func(batch []pipeline.Prediction) error {
		for _, p := range batch {
			means = append(means, p.Mean)
		}
		return nil
	}))
	return means
}

// With other values in outside rows the model has the same numbers, and all guarantees are the same.
func TestNothingLooksAtOutsideRows(t *testing.T) {
	columns := waves(900, 0.2, 4)
	one := corrected(t, columns, line, outside)
	other := [][]float64{slices.Clone(columns[0]), slices.Clone(columns[1]), slices.Clone(columns[2])}
	n := int64(0)
	fatal.If(t, pipeline.Split(t.Context(), testJob(t, func(j *job.Job) { j.Mean.Column, j.Guarantees = "p", nil; outside(j) }), one.table, job.Resources{}, func(_ dataset.Position, ordinal int64, subset string) error {
		if subset == "outside" {
			other[0][ordinal], other[2][ordinal] = float64(n), 1e3
			n++
		}
		return nil
	}))
	two := corrected(t, other, line, outside)
	if l := two.result.Certificate.Counts; l.Outside != n || n < 200 || l.Rows != l.Prior+l.Training+l.Holdout+l.Outside {
		t.Errorf("counts %+v, and %d outside rows", l, n)
	}
	if p, q := one.result.Model.Posterior, two.result.Model.Posterior; !slices.Equal(p.Mean, q.Mean) || !slices.Equal(p.Factor, q.Factor) {
		t.Error("the posteriors differ")
	}
	a, b := one.result.Certificate.Claims, two.result.Certificate.Claims
	for i := range a {
		if *a[i].Risk != *b[i].Risk || a[i].Bound != b[i].Bound {
			t.Errorf("%s: %v and %v, want the same", a[i].ID, a[i].Bound, b[i].Bound)
		}
	}
	two.verify(t)
}

// A column that knows the training rows gives a warning where it was to be fitted on outside rows alone.
func TestMeanThatKnowsTrainingRows(t *testing.T) {
	columns := waves(900, 0.2, 4)
	var train []bool
	fatal.If(t, pipeline.Split(t.Context(), testJob(t, func(j *job.Job) { j.Mean.Column, j.Guarantees = "p", nil; outside(j) }), source(columns, 400), job.Resources{}, func(_ dataset.Position, _ int64, subset string) error {
		train = append(train, subset == string(certify.SubsetTraining))
		return nil
	}))
	for name, share := range map[string]float64{"fitted": 0.5, "honest": 1} {
		r := corrected(t, columns, func(i int, _, y float64) float64 {
			if train[i] {
				return y + 0.3*share*float64(i%5-2)
			}
			return y + 0.3*float64(i%5-2)
		}, outside)
		if warned := r.result.Certificate.Warned(certify.WarnMeanFitted); warned != (share < 1) {
			t.Errorf("%s: warnings %v", name, r.result.Certificate.Warnings)
		}
	}
}

// A certificate cannot state another column or other distances than the rows give.
func TestForgedMeanIsRefused(t *testing.T) {
	r := corrected(t, waves(900, 0.2, 4), line, outside)
	for name, forged := range map[string]func(ev *certify.Evidence){
		"distances": func(ev *certify.Evidence) {
			ev.Mean.Train, ev.Mean.Prior = zeros(ev.Counts.Training), zeros(ev.Counts.Prior)
		},
		"no column":    func(ev *certify.Evidence) { ev.Mean, ev.Counts.Outside, ev.Counts.Rejected = nil, 0, ev.Counts.Outside },
		"outside rows": func(ev *certify.Evidence) { ev.Counts.Outside, ev.Counts.Rejected = ev.Counts.Outside-9, 9 },
	} {
		ev := evidence(r.result.Certificate)
		forged(&ev)
		c, err := certify.Certify(ev)
		if err == nil {
			_, err = pipeline.Verify(t.Context(), c, r.result.Model, r.result.ArtifactRef.Model, r.table.Table.Data, job.Resources{})
			if !errors.Is(err, job.ErrRefused) {
				t.Errorf("%s: %v, want a refusal", name, err)
			}
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func zeros(n int64) (s certify.RiskSum) {
	for range n {
		_ = s.AddUnits(0)
	}
	return s
}
