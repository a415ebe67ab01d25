package pipeline_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// withHoldout asks for both methods, and for so large a part of the rows.
func withHoldout(share float64) func(*job.Job) {
	return func(j *job.Job) {
		tiny(j)
		j.Split.Holdout = share
		j.Guarantees = []certify.MethodID{certify.MethodPACBayes, certify.MethodHoldout}
	}
}

// Every row is in one subset; a row is a held-out row by the hash of its number alone,
// and stays one when rows come after it; about the declared share of all rows is.
func TestHoldoutSplit(t *testing.T) {
	ranks := make(map[int64]uint64)
	for _, n := range []int64{1, 19, 300, 20_000} {
		for _, share := range []float64{0x1p-70, 0.1, 0.9} {
			r := splitOf(n, share)
			held := holdoutRows(r, 77)
			var want []int64
			for i := range n {
				if _, ok := ranks[i]; !ok {
					ranks[i] = splitHash("pacsgp", i)
				}
				if float64(ranks[i]) >= (1-share)*0x1p64 && share > 0x1p-60 { // no hash is so near to the limit that rounding matters
					want = append(want, i)
				}
			}
			if !slices.Equal(held, want) || r.Holdout() != int64(len(want)) {
				t.Fatalf("n = %d, share %g: %d held-out rows, want %d", n, share, len(held), len(want))
			}
			if n == 20_000 && math.Abs(float64(len(held))-share*float64(n)) > 5*math.Sqrt(float64(n)/4) {
				t.Errorf("%d held-out rows of %d, want about %g", len(held), n, share*float64(n))
			}
			train, inPlace := trainingRows(r, 100)
			all := slices.Concat(held, train, r.PriorRows)
			slices.Sort(all)
			if !inPlace || int64(len(train)) != r.Train() || int64(len(all)) != n || len(slices.Compact(all)) != int(n) {
				t.Errorf("n = %d, share %g: %d train, %d held-out and %d prior rows are not each row once", n, share, len(train), len(held), r.Prior())
			}
			for _, i := range startRows(r) {
				if _, found := slices.BinarySearch(held, i); found {
					t.Errorf("start values come from the held-out row %d", i)
				}
			}
		}
	}
}

// Nothing but the held-out bound depends on held-out rows: with other values in them the
// model has the same numbers, and the guarantees from training rows are the same.
func TestNothingLooksAtHoldoutRows(t *testing.T) {
	for name, change := range map[string]func(*job.Job){
		"flat":   func(j *job.Job) { j.Grid = job.PaperGrid },
		"peaked": func(j *job.Job) { j.Grid.Prior, j.Grid.Width = "peaked", 1 },
		"list":   func(j *job.Job) { j.Inducing = []int{4, 8} },
	} {
		t.Run(name, func(t *testing.T) {
			settings := func(j *job.Job) { withHoldout(0.3)(j); change(j) }
			columns := waves(400, 0.2, 4)
			one := publish(t, newLake(columns, 150, 250), settings)
			other := [][]float64{slices.Clone(columns[0]), slices.Clone(columns[1]), slices.Clone(columns[2])}
			r := splitOf(400, 0.3)
			rng := rand.New(rand.NewPCG(1, 1))
			for _, i := range holdoutRows(r, 400) {
				for c := range other {
					other[c][i] = 10 * rng.NormFloat64()
				}
			}
			two := publish(t, newLake(other, 150, 250), settings)
			if !reflect.DeepEqual(one.result.Model, two.result.Model) {
				t.Error("the model is another one")
			}
			for _, id := range []certify.ClaimID{certify.ClaimDraw, certify.ClaimMean} {
				a, _ := one.certificate.Claim(id)
				b, _ := two.certificate.Claim(id)
				if !cmp.Equal(a, b, cmpopts.IgnoreUnexported(certify.Claim{})) {
					t.Errorf("%s is another one: %+v, %+v", id, a, b)
				}
			}
			a, _ := one.certificate.Claim(certify.ClaimHoldout)
			b, _ := two.certificate.Claim(certify.ClaimHoldout)
			if a.Bound >= b.Bound || one.certificate.Counts != two.certificate.Counts || a.N != r.Holdout() {
				t.Errorf("the held-out rows say %v of %d rows and %v of %d: want a larger bound for noise, of %d rows", a.Bound, a.N, b.Bound, b.N, r.Holdout())
			}
		})
	}
}

// The held-out rows' promise through the whole pipeline: its bound is below the risk of the
// mean in at most its share of the runs. There is power, for the bound is near to the
// risk: with nothing paid for confidence it fails in about half of the runs.
func TestHoldoutCoverage(t *testing.T) {
	const rows, delta, epsilon = 500, 0.3, 0.3
	law := terrace{6, 2, 1}
	j := testJob(t, func(j *job.Job) {
		withHoldout(0.4)(j)
		j.Loss, j.Delta = job.LossDecl{Epsilon: epsilon}, delta
		j.Kernel.Isotropic, j.Grid = true, job.GridDecl{Min: -2, Max: 0, Step: 2}
		j.Inducing, j.Train.Passes = []int{6}, 5
	})
	type verdict struct{ above, free, bothAbove bool }
	runs := simulations(t, *coverageRuns)
	verdicts := simulate(t, runs, func(ctx context.Context, rng *rand.Rand, _ int) (verdict, error) {
		var store pipelinetest.Store
		r, err := pipeline.Run(ctx, j, environment(pipelinetest.NewMemory([]string{"x", "y"}, law.draw(rows, rng)), &store))
		if err != nil {
			return verdict{}, err
		}
		meta := r.Model.Meta
		draw, _, err := law.risks(r.Model.Posterior, meta.Features[0], meta.Target, epsilon)
		if err != nil {
			return verdict{}, err
		}
		_, mean, err := law.risks(r.Model.Predictive, meta.Features[0], meta.Target, epsilon)
		if err != nil {
			return verdict{}, err
		}
		g, _ := r.Certificate.Claim(certify.ClaimHoldout)
		d, _ := r.Certificate.Claim(certify.ClaimDraw)
		return verdict{mean > g.Bound, mean > *g.Risk, mean > g.Bound || draw > d.Bound}, nil
	})
	var above, free, failed int
	for _, v := range verdicts {
		above, free, failed = above+count(v.above), free+count(v.free), failed+count(v.bothAbove)
	}
	// Of δ the held-out rows have 9/10, and a first use 19/20 of that; of so many runs three deviations more may be above it.
	n, share := float64(runs), delta*9/10*19/20
	if limit := n*share + 3*math.Sqrt(n*share*(1-share)); float64(above) > limit {
		t.Errorf("of %d risks of means %d are above their bounds: want at most %.0f", runs, above, limit)
	}
	if limit := n*delta + 3*math.Sqrt(n*delta*(1-delta)); float64(failed) > limit {
		t.Errorf("in %d of %d runs some guarantee fails: want at most %.0f", failed, runs, limit)
	}
	if runs >= 40 && (float64(free) < 0.3*n || above == 0) {
		t.Errorf("%d of %d risks are above the empirical risk, %d above the bound: the test sees nothing", free, runs, above)
	}
	t.Logf("%d runs: %d above the bound, %d above the empirical risk, some guarantee fails in %d", runs, above, free, failed)
}

// Forged held-out rows are refused: one unit less, rows taken out of it or put into it,
// another share of the rows or of delta, and the guarantee left out.
func TestForgedHoldoutIsRefused(t *testing.T) {
	p := publish(t, newLake(waves(600, 0.2, 4), 250, 350), withHoldout(0.2))
	p.accepts(t, "what is honest", p.lake)
	for name, change := range map[string]func(ev *certify.Evidence){
		"a loss less": func(ev *certify.Evidence) {
			ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout).Risk = shifted(t, ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout).Risk, -certify.UnitsPerLoss)
		},
		"a unit more": func(ev *certify.Evidence) {
			ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout).Risk = shifted(t, ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout).Risk, 1)
		},
		"no held-out rows": func(ev *certify.Evidence) {
			ev.Delta.Methods, ev.Delta.Reuse = ev.Delta.Methods[:1], nil
			ev.LossSums = ev.LossSums.For(ev.Delta)
			ev.Counts.Prior, ev.Counts.Holdout = ev.Counts.Prior+ev.Counts.Holdout, 0
		},
		"a row less (without rows)": func(ev *certify.Evidence) {
			held := ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout)
			n := held.Risk.Count() - 1
			ev.Counts.Training, ev.Counts.Holdout = ev.Counts.Training+1, n
			ev.Dependence.Rows++
			train := ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining)
			fatal.If(t, errors.Join(train.Risk.Add(0), ev.Constant.Risk.AddLower(0)))
			held.Risk, held.Unproven = certify.RiskSum{}, 0
			for range n {
				fatal.If(t, held.Risk.Add(0))
			}
		},
		"a smaller share": func(ev *certify.Evidence) {
			reword(t, ev, `"holdout":0.2`, `"holdout":0.1`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := forge(t, p.certificate, func(ev *certify.Evidence) {
				ev.Delta.Methods = slices.Clone(ev.Delta.Methods)
				change(ev)
			})
			_, err := p.verify(t, c, p.result.Model, p.result.ArtifactRef.Model, p.lake)
			if !errors.Is(err, job.ErrRefused) {
				t.Errorf("verify: %v, want a refusal", err)
			}
			if _, err := p.verify(t, c, p.result.Model, p.result.ArtifactRef.Model, nil); strings.HasSuffix(name, "(without rows)") && !errors.Is(err, job.ErrRefused) {
				t.Errorf("verify without rows: %v, want a refusal", err)
			}
		})
	}
}

// A job that leaves no row for one of its methods ends before it trains.
func TestMethodsNeedRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows  int
		share float64
	}{"no held-out row": {300, 1e-9}, "no training row": {2, 0.9}} {
		t.Run(name, func(t *testing.T) {
			store := &pipelinetest.Store{}
			_, err := pipeline.Run(t.Context(), testJob(t, func(j *job.Job) {
				withHoldout(c.share)(j)
				j.Split.Key = "k"
				j.Loss = job.LossDecl{Epsilon: 1}
				for min(splitHash(j.Split.Key, 0), splitHash(j.Split.Key, 1)) < 1<<61 {
					j.Split.Key += "+" // until both of two rows are held-out rows
				}
				j.Scaling = job.ScalingNone
			}), newLake(waves(c.rows, 0.2, 4)).environment(store))
			if _, begun := store.Where(); !errors.Is(err, job.ErrData) || begun {
				t.Errorf("Run = %v, want ErrData before training", err)
			}
		})
	}
}
