package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A nature is a law of rows with everything known: x is uniform on [−3, 3], y is
// normal about the signal.
type nature struct {
	signal func(x float64) float64
	noise  float64 // > 0
}

// sines has something to learn, and noise that no predictor escapes.
func sines() nature {
	return nature{func(x float64) float64 { return math.Sin(2 * x) }, 0.3}
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

// bayesError is the risk of the best predictor: the signal.
func (n nature) bayesError(epsilon float64) float64 { return n.missRisk(0, n.signal(0), 0, epsilon) }

// risks are the true risks of a draw of Q and of its mean, in the units of the
// posterior scaled back by target and feature: the closed form above, by the
// midpoint rule over x.
func (n nature) risks(q *model.Posterior, feature, target pipeline.Affine, epsilon float64) (draw, mean float64, err error) {
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
	if testing.Short() || raceDetector || model.InstructionSet() == "portable" {
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
	draw, mean     certify.Guarantee
	risk, meanRisk float64
}

// certifyDraw runs the pipeline on rows drawn from a nature.
func certifyDraw(ctx context.Context, n nature, rows int, j pipeline.Job, rng *rand.Rand) (outcome, error) {
	var store pipelinetest.Store
	src := pipelinetest.NewMemory([]string{"x", "y"}, n.draw(rows, rng))
	r, err := pipeline.Run(ctx, j, environment(src, &store))
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	o.draw, _ = r.Certificate.Guarantee(certify.GuaranteeDraw)
	o.mean, _ = r.Certificate.Guarantee(certify.GuaranteeMean)
	meta := r.Model.Meta
	o.risk, o.meanRisk, err = n.risks(r.Model.Posterior, meta.Features[0], meta.Target, o.draw.Loss.Epsilon)
	return o, err
}

// The promise of the product: among 1,000 samples of 300 rows, each certified by
// a whole run, the true risk is above its bound, or below the lower one, in at
// most a share δ; so is the risk of the mean. Half of the runs declare their
// scaling and certify on 300 rows, half use reference rows and ε in deviations.
func TestCoverage(t *testing.T) {
	const rows, delta = 300, 0.05
	law := sines()
	runs := simulations(t, 1000)
	jobs := []pipeline.Job{
		job(t, func(j *pipeline.Job) {
			declared(j)
			j.Scaling.Features = map[string]pipeline.Affine{"x": {Scale: math.Sqrt(3)}}
			j.Loss.Epsilon, j.Delta, j.Inducing, j.Train.Passes = 0.6, delta, []int{8}, 3
		}),
		job(t, func(j *pipeline.Job) {
			j.Loss.EpsilonStd, j.Delta, j.Inducing, j.Train.Passes = 0.8, delta, []int{8}, 3
		}),
	}
	outcomes := simulate(t, runs, func(ctx context.Context, rng *rand.Rand, seed int) (outcome, error) {
		return certifyDraw(ctx, law, rows, jobs[seed%2], rng)
	})
	var draws, lowers, means, certified int
	var bound, risk float64
	for seed, o := range outcomes {
		if o.draw.N != []int64{rows, rows - rows/10}[seed%2] {
			t.Fatalf("seed %d: N = %d", seed, o.draw.N)
		}
		draws += count(o.risk > o.draw.Bound)
		lowers += count(o.risk < o.draw.LowerBound)
		means += count(o.meanRisk > o.mean.Bound)
		certified += count(o.draw.Status == certify.StatusCertified)
		bound += o.draw.Bound / float64(runs)
		risk += o.risk / float64(runs)
	}
	allowed := int(delta * float64(runs))
	if draws+lowers > allowed { // both bounds hold on one event
		t.Errorf("of %d risks, %d are above their bounds and %d below, δ = %g allows %d", runs, draws, lowers, delta, allowed)
	}
	if means > allowed {
		t.Errorf("of %d risks of means, %d are above their bounds, δ = %g allows %d", runs, means, delta, allowed)
	}
	if certified < runs*9/10 {
		t.Errorf("only %d of %d runs certify something, mean bound %.3f, mean risk %.3f", certified, runs, bound, risk)
	}
	t.Logf("%d runs: %d above, %d below, %d means above; mean bound %.3f, mean risk %.3f", runs, draws, lowers, means, bound, risk)
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
	law := sines()
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
		unscaled := pipeline.Affine{Scale: 1}
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
		Kernel: kernel.SquaredExponential{Lengthscales: []float64{0.08}, Variance: 1}, Jitter: 1e-4,
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
// The certificate says that it says nothing, unless the few reference rows chose
// a constant that is worse than a draw of Q.
func TestNoiseIsNeverCertifiedBelowItsBayesError(t *testing.T) {
	const epsilon = 1.
	law := noise()
	best := law.bayesError(epsilon)
	runs := simulations(t, 40)
	outcomes := simulate(t, runs, func(ctx context.Context, rng *rand.Rand, seed int) (outcome, error) {
		j := job(t, func(j *pipeline.Job) {
			j.Loss = pipeline.LossDecl{Epsilon: epsilon}
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
