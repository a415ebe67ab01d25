package model

import (
	"fmt"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/loss"
)

// predictBlock is the number of rows that go through a worker's cache together.
const predictBlock = 256

// A Predictor evaluates the law of f(x) under Q. A row's result depends on the
// posterior and on that row alone: not on its neighbours, its place, the number
// of rows of a call or the number of workers.
//
// It is for one goroutine at a time; it shares the posterior, which must not
// change meanwhile.
type Predictor struct {
	posterior *Posterior
	pool      *linalg.Pool
	invScale  []float64
	z         linalg.Mat
	whitened  *whitened
	folded    *folded // nil if the posterior is too sharp for it
	scratch   chan predictScratch
}

// predictScratch is what one worker writes on.
type predictScratch struct {
	k, t           linalg.Mat // [predictBlock×M]
	again          []int      // [predictBlock], as the next two
	mean, variance []float64
}

// NewPredictor returns a predictor that computes on the given number of
// workers. Close it after use.
func NewPredictor(p *Posterior, workers int) (*Predictor, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	m, d := p.Inducing(), p.Dim()
	pool := linalg.NewPool(max(1, workers))
	r := &Predictor{
		posterior: p,
		pool:      pool,
		invScale:  p.inverseScales(),
		z:         linalg.Mat{Rows: m, Cols: d, Stride: d, Data: p.Z},
		whitened:  newWhitened(pool, p),
		scratch:   make(chan predictScratch, pool.Workers()),
	}
	r.folded = newFolded(pool, p, r.whitened)
	for range pool.Workers() {
		r.scratch <- predictScratch{
			k: linalg.NewMat(predictBlock, m), t: linalg.NewMat(predictBlock, m),
			again: make([]int, predictBlock), mean: make([]float64, predictBlock), variance: make([]float64, predictBlock),
		}
	}
	return r, nil
}

// Close ends the predictor's workers.
func (r *Predictor) Close() { r.pool.Close() }

// Predict writes the mean and the variance of f(x) under Q for each row of x
// [n×d] to mean [n] and variance [n], in scaled units. A variance can be
// negative by rounding; the losses raise it. A row with a NaN gives NaN.
func (r *Predictor) Predict(x, mean, variance []float64) error {
	return r.blocks(x, mean, variance, func(int, int) {})
}

// PredictLoss does as [Predictor.Predict] and writes the expected losses of the
// targets y [n] to expected [n] too, while the rows are at hand.
func (r *Predictor) PredictLoss(l loss.Loss, x, y, mean, variance, expected []float64) error {
	if len(y) != len(mean) || len(expected) != len(mean) {
		return fmt.Errorf("model: predict: %d targets and %d losses for %d rows", len(y), len(expected), len(mean))
	}
	return r.blocks(x, mean, variance, func(i, j int) {
		for ; i < j; i++ {
			expected[i] = l.Expected(y[i], mean[i], variance[i])
		}
	})
}

// blocks predicts and calls then with [i, j) for each block of rows that is done.
func (r *Predictor) blocks(x, mean, variance []float64, then func(i, j int)) error {
	n, d := len(mean), r.posterior.Dim()
	if len(variance) != n || len(x) != n*d {
		return fmt.Errorf("model: predict: %d feature values, %d means and %d variances do not fit d = %d", len(x), n, len(variance), d)
	}
	r.pool.For((n+predictBlock-1)/predictBlock, func(block int) {
		i := block * predictBlock
		j := min(n, i+predictBlock)
		r.block(x[i*d:j*d], mean[i:j], variance[i:j])
		then(i, j)
	})
	return nil
}

func (r *Predictor) block(x, mean, variance []float64) {
	s := <-r.scratch
	defer func() { r.scratch <- s }()
	n, m, d := len(mean), r.posterior.Inducing(), r.posterior.Dim()
	k, t := s.k.Slice(0, n, 0, m), s.t.Slice(0, n, 0, m)
	r.pool.SEKernel(linalg.Mat{Rows: n, Cols: d, Stride: d, Data: x}, r.z, r.invScale, r.posterior.Kernel.Variance, k)
	if r.folded == nil {
		r.whitened.predict(k, t, mean, variance)
		return
	}
	r.folded.predict(k, t, mean, variance)
	again := s.again[:0]
	for i, v := range variance {
		if !(v >= r.folded.least) {
			copy(k.Row(len(again)), k.Row(i))
			again = append(again, i)
		}
	}
	if c := len(again); c > 0 {
		r.whitened.predict(k.Slice(0, c, 0, m), t.Slice(0, c, 0, m), s.mean[:c], s.variance[:c])
	}
	for j, i := range again {
		mean[i], variance[i] = s.mean[j], s.variance[j]
	}
}
