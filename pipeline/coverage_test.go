package pipeline_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A nature is a law of rows with everything known: x is uniform on [−3, 3], y is
// normal about the signal.
type nature struct {
	signal func(x float64) float64
	noise  float64 // > 0
}

// noise has nothing to learn.
func noise() nature { return nature{func(float64) float64 { return 0 }, 1} }

func (n nature) draw(rows int, rng *rand.Rand) [][]float64 {
	x, y := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		x[i] = 6*rng.Float64() - 3
		y[i] = n.signal(x[i]) + n.noise*rng.NormFloat64()
	}
	return [][]float64{x, y}
}

// missRisk is the probability that f misses y by more than epsilon, f ~ N(m, v)
// and y ~ N(g, noise²) independent: f − y ~ N(m − g, v + noise²).
func (n nature) missRisk(x, m, v, epsilon float64) float64 {
	s := math.Sqrt(max(v, 0) + n.noise*n.noise)
	off := m - n.signal(x)
	upper := func(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }
	return upper((epsilon-off)/s) + upper((epsilon+off)/s)
}

// risks are the true risks of a random draw and of the mean of Q, in the units of the
// posterior scaled back by target and feature: the closed form above, by the
// midpoint rule over x.
func (n nature) risks(q *model.Posterior, feature, target job.Affine, epsilon float64) (draw, mean float64, err error) {
	const points = 600 // lengthscales are above 0.05: the rule's error is far below the bound's slack
	predictor, err := model.NewPredictor(q, 1)
	if err != nil {
		return 0, 0, err
	}
	defer predictor.Close()
	x, m, v := make([]float64, points), make([]float64, points), make([]float64, points)
	for i := range x {
		x[i] = (-3 + 6*(float64(i)+0.5)/points - feature.Centre) / feature.Scale
	}
	if err := predictor.Predict(x, m, v); err != nil {
		return 0, 0, err
	}
	for i := range x {
		raw, f := x[i]*feature.Scale+feature.Centre, m[i]*target.Scale+target.Centre
		draw += n.missRisk(raw, f, v[i]*target.Scale*target.Scale, epsilon) / points
		mean += n.missRisk(raw, f, 0, epsilon) / points
	}
	return draw, mean, nil
}

// simulations is how many runs a test of this file makes: all of them where
// they take less than a minute on two cores.
func simulations(t *testing.T, all int) int {
	t.Helper()
	if raceDetector {
		t.Skip("many runs on goroutines of the test's own, of what other tests run once")
	}
	if testing.Short() || model.InstructionSet() == "portable" {
		return all / 20
	}
	return all
}

// simulate calls run for each seed on as many goroutines as there are cores, and
// returns the results in the order of seeds.
func simulate[T any](t *testing.T, seeds int, run func(ctx context.Context, rng *rand.Rand, seed int) (T, error)) []T {
	t.Helper()
	results, errs := make([]T, seeds), make([]error, seeds)
	next := make(chan int)
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for seed := range next {
				results[seed], errs[seed] = run(t.Context(), rand.New(rand.NewPCG(uint64(seed), 2026)), seed)
			}
		})
	}
	for seed := range seeds {
		next <- seed
	}
	close(next)
	running.Wait()
	for seed, err := range errs {
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	return results
}

// outcome is what one run certified, and the truth.
type outcome struct {
	draw, mean     certify.Claim
	risk, meanRisk float64
	kl             float64
	inducing       int
}

// A law draws rows and knows the risks of a random draw and of the mean of Q.
type law interface {
	draw(rows int, rng *rand.Rand) [][]float64
	risks(q *model.Posterior, feature, target job.Affine, epsilon float64) (draw, mean float64, err error)
}

// certifyDraw runs the pipeline on rows drawn from a law.
func certifyDraw(ctx context.Context, n law, rows int, j job.Job, rng *rand.Rand) (outcome, error) {
	return certifyRows(ctx, n, n.draw(rows, rng), j)
}

// certifyRows runs the pipeline on these rows.
func certifyRows(ctx context.Context, n law, columns [][]float64, j job.Job) (outcome, error) {
	var store pipelinetest.Store
	src := pipelinetest.NewMemory([]string{"x", "y"}, columns)
	r, err := pipeline.Run(ctx, j, environment(src, &store))
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	o.draw, _ = r.Certificate.Claim(certify.ClaimDraw)
	o.mean, _ = r.Certificate.Claim(certify.ClaimMean)
	meta := r.Model.Meta
	o.inducing, o.kl = r.Model.Posterior.Inducing(), r.Certificate.Model.KL
	o.risk, o.meanRisk, err = n.risks(r.Model.Posterior, meta.Features[0], meta.Target, meta.Loss.Epsilon)
	return o, err
}

// A terrace has a height at each of few positions x = 0, 1, …, and noise that is
// uniform on [−1, 1] about it. The least risk at ε is 1−ε, and all predictions
// within 1−ε of the height have it: Q is free to move its window over the rows
// that happen to be there, and where it has to learn the heights anyway, that
// costs little more. So the empirical risk is far below the risk.
type terrace struct {
	positions int
	step      float64 // between heights
	equal     int     // so many positions side by side have one height
}

func (c terrace) height(position int) float64 { return c.step * float64(position/c.equal*7%3-1) }

func (c terrace) draw(rows int, rng *rand.Rand) [][]float64 {
	x, y := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		position := rng.IntN(c.positions)
		x[i], y[i] = float64(position), c.height(position)+2*rng.Float64()-1
	}
	return [][]float64{x, y}
}

// risks are exact: a prediction covers a part of [−1, 1] about the height.
func (c terrace) risks(q *model.Posterior, feature, target job.Affine, epsilon float64) (draw, mean float64, err error) {
	predictor, err := model.NewPredictor(q, 1)
	if err != nil {
		return 0, 0, err
	}
	defer predictor.Close()
	x, m, v := make([]float64, c.positions), make([]float64, c.positions), make([]float64, c.positions)
	for i := range x {
		x[i] = (float64(i) - feature.Centre) / feature.Scale
	}
	if err := predictor.Predict(x, m, v); err != nil {
		return 0, 0, err
	}
	for i := range x {
		off := m[i]*target.Scale + target.Centre - c.height(i)
		s := math.Sqrt(max(v[i], 0)) * target.Scale
		draw += (1 - (meanClipped(off+epsilon, s)-meanClipped(off-epsilon, s))/2) / float64(c.positions)
		mean += (1 - (meanClipped(off+epsilon, 0)-meanClipped(off-epsilon, 0))/2) / float64(c.positions)
	}
	return draw, mean, nil
}

// meanClipped is E max(−1, min(1, f)) for f ~ N(m, s²).
func meanClipped(m, s float64) float64 {
	if s == 0 {
		return max(-1, min(1, m))
	}
	density := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
	below := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	l, u := (-1-m)/s, (1-m)/s
	return below(-u) - below(l) + m*(below(u)-below(l)) + s*(density(l)-density(u))
}

// coverageRuns is how many runs TestCoverage makes of each kind of job: in an
// ordinary test run a tenth of the 2,000 of `make nightly PART=3`, with the same seeds.
var coverageRuns = flag.Int("runs", 200, "runs of each kind of job in TestCoverage")

// The promise of the product, through the whole pipeline: among many samples,
// each certified by a run of its own, the true risk is above its bound, or below
// the lower one, in at most a share δ; so is the risk of the mean.
//
// The setting has power because the risk is flat about its minimum, the law
// needs few hyper-parameters, and δ is large: bounds are nearer to the risk than
// the KL is worth. Where what a bound paid for KL is taken back, it fails for
// more than a share δ of the runs; that is part of the test.
func TestCoverage(t *testing.T) {
	const rows, delta, epsilon = 360, 0.3, 0.3
	each := terrace{24, 2, 1}
	for _, kind := range []struct {
		name   string
		law    terrace
		n      int64
		change func(*job.Job)
	}{
		{"flat", each, rows - rows/10, func(*job.Job) {}},
		{"peaked", each, rows - rows/10, func(j *job.Job) { j.Grid.Prior, j.Grid.Width = "peaked", 1 }},
		{"unscaled", each, rows, func(j *job.Job) { j.Scaling = job.ScalingNone }},
		{"list", terrace{48, 2, 4}, rows - rows/10, func(j *job.Job) { j.Inducing = []int{32, 33, 34} }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			j := testJob(t, func(j *job.Job) {
				j.Loss, j.Delta = job.LossDecl{Epsilon: epsilon}, delta
				j.Kernel.Isotropic, j.Grid = true, job.GridDecl{Min: -2, Max: 0, Step: 2, Prior: certify.PriorFlat}
				j.Inducing, j.Train.Passes = []int{24}, 10
				kind.change(j)
			})
			runs := simulations(t, *coverageRuns)
			if testing.Short() {
				runs = min(runs, 4) // they show that it runs: the night has 400
			}
			outcomes := simulate(t, runs, func(ctx context.Context, rng *rand.Rand, _ int) (outcome, error) {
				return certifyDraw(ctx, kind.law, rows, j, rng)
			})
			checkCoverage(t, outcomes, kind.n, delta)
			chosen := map[int]int{}
			for _, o := range outcomes {
				chosen[o.inducing]++
			}
			t.Logf("chosen numbers of inducing points, and in how many runs: %v", chosen)
		})
	}
}

// checkCoverage counts violations, those that there would be without KL, and
// those without KL and ln 1/p.
func checkCoverage(t *testing.T, outcomes []outcome, n int64, delta float64) {
	t.Helper()
	runs := float64(len(outcomes))
	var draws, means, certified, unpaid, free int
	var bound, risk, empirical, kl float64
	for seed, o := range outcomes {
		if o.draw.N != n {
			t.Fatalf("seed %d: N = %d, want %d", seed, o.draw.N, n)
		}
		draws += count(o.risk > o.draw.Bound)
		means += count(o.meanRisk > o.mean.Bound)
		certified += count(o.draw.Status == certify.StatusCertified)
		terms := certify.Terms{Risk: *o.draw.Risk, LnInverseWeight: o.draw.LnInverseWeight, N: n, Delta: delta}
		unpaid += count(o.risk > upper(t, terms))
		terms.LnInverseWeight = 0
		free += count(o.risk > upper(t, terms))
		bound, risk = bound+o.draw.Bound/runs, risk+o.risk/runs
		empirical, kl = empirical+*o.draw.Risk/runs, kl+o.kl/runs
	}
	allowed := delta * runs
	if float64(draws) > allowed {
		t.Errorf("of %g risks, %d are above their bounds, δ = %g allows %g", runs, draws, delta, allowed)
	}
	if float64(means) > allowed {
		t.Errorf("of %g risks of means, %d are above their bounds, δ = %g allows %g", runs, means, delta, allowed)
	}
	if float64(certified) < 0.8*runs {
		t.Errorf("only %d of %g runs certify something, mean bound %.3f, mean risk %.3f", certified, runs, bound, risk)
	}
	if runs >= 40 && float64(unpaid) < 1.3*allowed { // fewer runs show nothing either way
		t.Errorf("without KL, %d of %g risks are above their bounds: want far more than δ = %g of them, or this test sees nothing", unpaid, runs, delta)
	}
	t.Logf("%g runs: %d above, %d means above; %d above without KL, %d without KL and ln 1/p; %d certified; mean bound %.3f, risk %.3f, empirical risk %.3f, KL %.1f",
		runs, draws, means, unpaid, free, certified, bound, risk, empirical, kl)
}

// upper is the upper bound that follows from terms.
func upper(t *testing.T, terms certify.Terms) float64 {
	t.Helper()
	b, err := certify.Bound(terms)
	fatal.If(t, err)
	return b.Upper
}

// Given the prior rows, whatever they are, the bound holds with confidence
// 1−δ over the draw of the training rows: here an enemy has chosen prior rows
// that every prediction near 0 hits. There is power because they are a tenth of
// the rows and the risk is 0.9 on the others, where no height can be learnt: counted as well, they put the
// empirical risk at 0.81, and the bound below the risk in nearly every run.
func TestPriorRowsMayBeAnything(t *testing.T) {
	const rows, delta, epsilon = 400, 0.3, 0.1
	law := terrace{3, 0, 1}
	j := testJob(t, func(j *job.Job) {
		j.Loss, j.Delta = job.LossDecl{Epsilon: epsilon}, delta
		j.Kernel.Isotropic, j.Grid = true, job.GridDecl{Min: -2, Max: 0, Step: 2, Prior: certify.PriorFlat}
		j.Inducing, j.Train.Passes = []int{3}, 5
	})
	prior := plainly(law.draw(rows, rand.New(rand.NewPCG(1, 1))), j.Split.Key).prior
	runs := simulations(t, 40)
	outcomes := simulate(t, runs, func(ctx context.Context, rng *rand.Rand, _ int) (outcome, error) {
		columns := law.draw(rows, rng)
		for k, i := range prior {
			columns[1][i] = (0.9 - 1e-3*float64(k)) * epsilon * float64(2*(k%2)-1) // no two alike: duplicates stop a job
		}
		return certifyRows(ctx, law, columns, j)
	})
	violations, bound, risk := 0, 0., 0.
	for _, o := range outcomes {
		violations += count(o.risk > o.draw.Bound)
		bound, risk = bound+o.draw.Bound/float64(runs), risk+o.risk/float64(runs)
	}
	if float64(violations) > delta*float64(runs) {
		t.Errorf("%d of %d risks are outside their bounds, more than δ = %g allows", violations, runs, delta)
	}
	if !(bound < 0.96) {
		t.Errorf("the mean bound is %.3f, the mean risk %.3f: too loose to see anything", bound, risk)
	}
	t.Logf("%d runs: %d outside; mean bound %.3f, mean risk %.3f", runs, violations, bound, risk)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The test above can fail: where the prior is fitted to the certified rows, so
// that it equals Q and KL is 0, Q interpolates the noise of its rows, and its
// risk is above the bound far more often than δ = 0.3. With the KL from a prior
// that knows no rows, the same Q is never above its bound.
func TestCoverageFailsWithAPriorFittedToTheRows(t *testing.T) {
	const rows, delta, epsilon = 300, 0.3, 0.6
	law := nature{func(x float64) float64 { return math.Sin(2 * x) }, 0.3} // something to learn, and noise
	type violation struct{ fitted, honest bool }
	runs := simulations(t, 1000)
	violations := simulate(t, runs, func(_ context.Context, rng *rand.Rand, _ int) (violation, error) {
		columns := law.draw(rows, rng)
		q, err := interpolate(columns[0][:rows/2], columns[1][:rows/2])
		if err != nil {
			return violation{}, err
		}
		empirical, err := missesOn(q, columns, epsilon)
		if err != nil {
			return violation{}, err
		}
		unscaled := job.Affine{Scale: 1}
		risk, _, err := law.risks(q, unscaled, unscaled, epsilon)
		if err != nil {
			return violation{}, err
		}
		kl, err := certify.GaussianKL(q.Mean, q.Factor, q.Inducing())
		if err != nil {
			return violation{}, err
		}
		terms := certify.Terms{Risk: empirical, N: rows, Delta: delta}
		fitted, err := certify.Bound(terms)
		if err != nil {
			return violation{}, err
		}
		terms.KL = kl
		honest, err := certify.Bound(terms)
		return violation{risk > fitted.Upper, risk > honest.Upper}, err
	})
	var fitted, honest int
	for _, v := range violations {
		fitted += count(v.fitted)
		honest += count(v.honest)
	}
	if float64(fitted) < 0.6*float64(runs) {
		t.Errorf("with a prior fitted to the rows, %d of %d risks are above their bounds: want far more than δ = %g of them", fitted, runs, delta)
	}
	if honest > 0 {
		t.Errorf("with the honest KL, %d of %d risks are above their bounds: want none", honest, runs)
	}
	t.Logf("%d runs: %d above the bound with the fitted prior, %d with the honest one", runs, fitted, honest)
}

// interpolate returns a law that goes through the rows.
func interpolate(x, y []float64) (*model.Posterior, error) {
	m := len(x)
	q := &model.Posterior{
		Kernel: kernel.Kernel{Family: kernel.SquaredExponential, Lengthscales: []float64{0.08}, Variance: 1}, Jitter: 1e-4,
		Z: x, Mean: make([]float64, m), L: make([]float64, m*m), Factor: make([]float64, m*m),
	}
	k := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			k.SetSym(i, j, q.Kernel.At(x[i:i+1], x[j:j+1]))
		}
		k.SetSym(i, i, q.Kernel.Variance+q.Jitter)
	}
	var chol mat.Cholesky
	if !chol.Factorize(k) {
		return nil, fmt.Errorf("no Cholesky factor of %d rows", m)
	}
	var l mat.TriDense
	chol.LTo(&l)
	whitened := mat.NewVecDense(m, q.Mean)
	if err := whitened.SolveVec(&l, mat.NewVecDense(m, y)); err != nil {
		return nil, err
	}
	for i := range m {
		for j := range i + 1 {
			q.L[i*m+j] = l.At(i, j)
		}
		q.Factor[i*m+i] = 0.01
	}
	return q, nil
}

// missesOn is the empirical risk of a draw on the rows.
func missesOn(q *model.Posterior, columns [][]float64, epsilon float64) (float64, error) {
	predictor, err := model.NewPredictor(q, 1)
	if err != nil {
		return 0, err
	}
	defer predictor.Close()
	n := len(columns[0])
	m, v := make([]float64, n), make([]float64, n)
	if err := predictor.Predict(columns[0], m, v); err != nil {
		return 0, err
	}
	var sum certify.RiskSum
	for i, y := range columns[1] {
		point := nature{func(float64) float64 { return y }, 0}
		if err := sum.Add(min(1, point.missRisk(0, m[i], v[i]+1e-14, epsilon))); err != nil {
			return 0, err
		}
	}
	return sum.Upper(), nil
}

// Where there is nothing to learn, nothing below the error of the best predictor
// is certified, however many inducing points are there to fit the noise with.
// The certificate says that it says nothing, unless the few prior rows chose
// a constant that is worse than a random draw.
func TestNoiseIsNeverCertifiedBelowItsBayesError(t *testing.T) {
	const epsilon = 1.
	law := noise()
	best := law.missRisk(0, law.signal(0), 0, epsilon) // of the signal, the best predictor
	runs := simulations(t, 40)
	outcomes := simulate(t, runs, func(ctx context.Context, rng *rand.Rand, seed int) (outcome, error) {
		j := testJob(t, func(j *job.Job) {
			j.Loss = job.LossDecl{Epsilon: epsilon}
			j.Delta, j.Inducing, j.Train.Passes = 0.05, []int{[]int{5, 40, 100}[seed%3]}, 5
		})
		return certifyDraw(ctx, law, 300, j, rng)
	})
	vacuous := 0
	for seed, o := range outcomes {
		if o.draw.Bound < best || o.mean.Bound < best {
			t.Errorf("seed %d: bounds %.4f for a draw and %.4f for the mean are below the Bayes error %.4f", seed, o.draw.Bound, o.mean.Bound, best)
		}
		vacuous += count(o.draw.Status == certify.StatusVacuous && o.mean.Status == certify.StatusVacuous)
	}
	if vacuous < runs*4/5 {
		t.Errorf("%d of %d certificates say that they say nothing: want nearly all", vacuous, runs)
	}
}
