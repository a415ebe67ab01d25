package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/loss"
)

// predictBlock is the number of rows that a worker predicts at once, so that they fit into its cache.
const predictBlock = 256

// A Predictor computes the distribution of f(x) under Q. The result of a row depends on the posterior and on that row
// alone: not on its neighbours, its position, the number of rows of a call, the number of workers or the machine.
//
// Several goroutines may use it at the same time; they share its workers and their memory. It shares the
// posterior, which must not change meanwhile.
type Predictor struct {
	posterior *Posterior
	pool      *linalg.Pool
	invScale  []float64
	origin    []float64 // of the kernel block
	way       way
	z         linalg.Mat // inducing points in the order of the way
	alpha     []float64  // L⁻ᵀm in that order
	errors    errorTerms
	scratch   chan *predictScratch // one for each worker
}

// A way computes the distribution of f(x) from kernel columns.
type way interface {
	// backwards reports whether the columns of k go from the last inducing point to the first.
	backwards() bool
	// predict writes the variance of each row, and its image: the squared length of the vector that the
	// variance is computed from. It may overwrite k and t, which are of one size.
	predict(k, t linalg.Mat, variance, image []float64)
	// varianceError returns an upper bound on the error of a row's variance, for a kernel column of length k
	// that is off by dk.
	varianceError(e *errorTerms, k, dk, image float64) float64
}

// typical returns the error bound of the variance for a row among the inducing points.
func typical(w way, e *errorTerms) float64 {
	return w.varianceError(e, 2*e.sigma2, 100*roundoff*e.sigma2, e.sigma2)
}

// predictScratch is the working memory of one worker.
type predictScratch struct {
	k, t             linalg.Mat // [predictBlock×M]
	norm, sum, image []float64  // [predictBlock]: of the rows of k
	losses           loss.Upper
}

// NewPredictor returns a predictor that computes on the given number of workers, at least one. Close it after use.
func NewPredictor(p *Posterior, workers int) (*Predictor, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	m, d := p.Inducing(), p.Dim()
	pool := linalg.NewPool(max(1, workers))
	z := view(p.Z, d)
	r := &Predictor{
		posterior: p,
		pool:      pool,
		invScale:  p.inverseScales(),
		origin:    medians(z),
		scratch:   make(chan *predictScratch, pool.Workers()),
	}
	r.errors = newErrorTerms(pool, p, r.origin, r.invScale)
	r.use(newFastPath(pool, p))
	if e := &r.errors; !(typical(r.way, e) <= 4*typical(&exactPath{}, e)) {
		r.use(newExactPath(pool, p))
	}
	vector := func() []float64 { return make([]float64, predictBlock) }
	for range pool.Workers() {
		r.scratch <- &predictScratch{
			k: linalg.NewMat(predictBlock, m), t: linalg.NewMat(predictBlock, m),
			norm: vector(), sum: vector(), image: vector(),
		}
	}
	return r, nil
}

// use sets the way, and orders the inducing points and α for it.
func (r *Predictor) use(w way) {
	r.way, r.alpha = w, slices.Clone(r.errors.alpha)
	r.z = view(r.posterior.Z, r.posterior.Dim())
	if !w.backwards() {
		return
	}
	slices.Reverse(r.alpha)
	z := r.z
	r.z = linalg.NewMat(z.Rows, z.Cols)
	for i := range z.Rows {
		copy(r.z.Row(i), z.Row(z.Rows-1-i))
	}
}

// Close ends the predictor's workers.
func (r *Predictor) Close() { r.pool.Close() }

// Predict writes the mean and the variance of f(x) under Q for each row of x [n×d] to mean [n] and variance [n], in
// scaled units. Rounding can make a variance negative; package loss raises it then. A row with a NaN gives NaN.
func (r *Predictor) Predict(x, mean, variance []float64) error {
	return r.blocks(x, loss.Laws{Mean: mean, Variance: variance}, func(*predictScratch, int, int) {})
}

// PredictLaws writes the results of [Predictor.Predict] to laws, with bounds on their rounding errors. The
// bounds are proven (docs/explanation/theory.md, 10) for posteriors that pass [Posterior.JitterCheck].
func (r *Predictor) PredictLaws(x []float64, laws loss.Laws) error {
	return r.blocks(x, laws, func(*predictScratch, int, int) {})
}

// PredictLoss does what [Predictor.PredictLaws] does. For the targets y [n] it also writes to hi [n] upper
// bounds, in [0, 1], on the expected losses of a random draw. They hold for a reader whose predictions are off
// by up to accuracy, in scaled units (see [loss.Upper]).
func (r *Predictor) PredictLoss(l loss.Loss, accuracy float64, x, y []float64, laws loss.Laws, hi []float64) error {
	return r.predictLoss((*loss.Upper).Draws, l, accuracy, x, y, laws, hi)
}

// PredictMeanLoss is [Predictor.PredictLoss] for the losses of the predicted means.
func (r *Predictor) PredictMeanLoss(l loss.Loss, accuracy float64, x, y []float64, laws loss.Laws, hi []float64) error {
	return r.predictLoss((*loss.Upper).Points, l, accuracy, x, y, laws, hi)
}

func (r *Predictor) predictLoss(
	bounds func(r *loss.Upper, l loss.Loss, accuracy float64, y []float64, laws loss.Laws, hi []float64),
	l loss.Loss, accuracy float64, x, y []float64, laws loss.Laws, hi []float64,
) error {
	if n := len(laws.Mean); len(y) != n || len(hi) != n {
		return fmt.Errorf("model: predict: %d targets and %d losses for %d rows", len(y), len(hi), n)
	}
	return r.blocks(x, laws, func(s *predictScratch, i, j int) {
		bounds(&s.losses, l, accuracy, y[i:j], laws.Slice(i, j), hi[i:j])
	})
}

// blocks predicts all rows, and calls then with [i, j) for each block of rows that is done.
func (r *Predictor) blocks(x []float64, laws loss.Laws, then func(s *predictScratch, i, j int)) error {
	n, d := len(laws.Mean), r.posterior.Dim()
	if len(laws.Variance) != n || len(x) != n*d {
		return fmt.Errorf("model: predict: %d feature values, %d means and %d variances do not fit d = %d", len(x), n, len(laws.Variance), d)
	}
	if len(laws.MeanError) != len(laws.VarianceError) || laws.MeanError != nil && len(laws.MeanError) != n {
		return fmt.Errorf("model: predict: %d and %d errors for %d rows", len(laws.MeanError), len(laws.VarianceError), n)
	}
	r.pool.For((n+predictBlock-1)/predictBlock, func(block int) {
		s := <-r.scratch
		defer func() { r.scratch <- s }()
		i := block * predictBlock
		j := min(n, i+predictBlock)
		r.block(s, x[i*d:j*d], laws.Mean[i:j], laws.Variance[i:j])
		if laws.MeanError != nil {
			r.bound(s, x[i*d:j*d], laws.MeanError[i:j], laws.VarianceError[i:j])
		}
		then(s, i, j)
	})
	return nil
}

// block predicts the rows of one block, and leaves in s what bound needs.
func (r *Predictor) block(s *predictScratch, x, mean, variance []float64) {
	n, m, d := len(mean), r.posterior.Inducing(), r.posterior.Dim()
	k, t := s.k.Slice(0, n, 0, m), s.t.Slice(0, n, 0, m)
	kernel := &r.posterior.Kernel
	r.pool.Kernel(kernel.Family.Profile, view(x, d), r.z, r.origin, r.invScale, kernel.Variance, k, linalg.Mat{})
	for i := range mean {
		row := k.Row(i)
		mean[i], s.norm[i], s.sum[i] = linalg.Dot(row, r.alpha), linalg.Dot(row, row), linalg.Sum(row)
	}
	r.way.predict(k, t, variance, s.image[:n])
}

// bound writes the error bounds of the rows that block has just predicted.
func (r *Predictor) bound(s *predictScratch, x, meanError, varianceError []float64) {
	d, e := r.posterior.Dim(), &r.errors
	for i := range meanError {
		k := math.Sqrt(s.norm[i]) * outwards
		dk := e.kernelError(k, s.sum[i], e.distance(x[i*d:(i+1)*d]))
		meanError[i] = e.meanError(k, dk)
		varianceError[i] = r.way.varianceError(e, k, dk, s.image[i])
	}
}
