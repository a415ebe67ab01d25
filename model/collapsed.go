package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// A Collapsed trainer fits a posterior of the form of FITC and its relatives,
//
//	Λ_i = k(x_i, x_i) − |φ_i|²,  D_i = αΛ_i + σ_n²,
//	S = (I + Σ φ_iφ_iᵀ/D_i)⁻¹,  m = S Σ φ_i y_i/D_i,
//
// which depends on θ, Z and σ_n² alone. It finds these by L-BFGS with exact gradients. Such posteriors are the
// sparse Gaussian processes of Reeb et al. 2018 (eq. 9 to 12, with prior mean 0), FITC, DTC and VFE. Like
// [Trainer] it is a step machine: a gradient takes two or three full passes, or one mini-batch; then full
// passes end the training. Memory is O(M² + M·block).
type Collapsed struct {
	cfg     CollapsedConfig
	pool    *linalg.Pool
	prior   *prior
	fold    *fold
	descent searcher // the running search, or nil
	batch   Rows     // the rows of the open pass, if it is a mini-batch

	eval  evaluator
	at    parameters // the point that is being evaluated
	point []float64  // the same point in free coordinates
	pass  foldPass   // the present or next pass of the evaluation
	open  bool

	collapsedState
}

// A stage is a stage of training by a [Collapsed].
type stage int

const (
	searching stage = iota
	settling        // the best θ is on its grid, and its posterior is computed once more
	finished
)

// collapsedState is the state of a [Collapsed] between two evaluations. Replaying its answers restores the search.
type collapsedState struct {
	start     position
	stage     stage
	answers   []evaluation
	evaluated int
	best      lowest
	last      Progress
	warning   string
	mean      []float64 // [M]: m, when finished
	precision []float64 // [M×M]: S⁻¹, when finished
}

// lowest is the lowest value of the objective so far, with its point in free coordinates.
type lowest struct {
	value float64
	point []float64
}

// NewCollapsed returns a trainer whose inducing points start at k-means centres of the start rows or, with
// [CollapsedConfig.Exact], are the start rows. Close it after use.
func NewCollapsed(cfg CollapsedConfig, start Rows) (*Collapsed, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := start.Validate(); err != nil {
		return nil, err
	}
	if start.Len() == 0 || start.Dim != cfg.Dim || cfg.Exact && int64(start.Len()) < cfg.N {
		return nil, fmt.Errorf("%w: %d start rows of %d features, want at least one of %d, and for an exact process %d at least", ErrConfig, start.Len(), start.Dim, cfg.Dim, cfg.N)
	}
	c := &Collapsed{cfg: cfg, pool: linalg.NewPool(cfg.Workers)}
	c.best.value, c.last.Bound = math.Inf(1), 1
	if err := c.findStart(start); err != nil {
		c.Close()
		return nil, err
	}
	if !c.launch() {
		c.settle()
	}
	return c, nil
}

// allocate makes the matrices and vectors for m inducing points.
func (c *Collapsed) allocate(m int) {
	d := c.cfg.Dim
	c.prior = newPrior(c.pool, c.cfg.Kernel.Profile, c.cfg.of(d), c.cfg.Jitter, m)
	c.fold = newFold(c.prior, c.cfg.Loss, m, d)
	c.eval = newEvaluator(m, d, c.cfg.Parameters())
}

// launch starts the search and replays the answers so far. It reports whether the search needs another evaluation.
func (c *Collapsed) launch() bool {
	c.descent = c.newSearch()
	for _, a := range c.answers {
		if c.descent.next() == nil {
			return false
		}
		c.descent.answer(a)
	}
	return c.aim()
}

// aim prepares the evaluation of the search's next point, if there is one.
func (c *Collapsed) aim() bool {
	if c.point = c.descent.next(); c.point == nil {
		return false
	}
	c.at, c.pass = c.parametersAt(c.point), gatherPass
	return true
}

// answer gives the search the evaluation of its point. Without a gradient the value counts as high, so that the
// search goes back. Values of different mini-batches cannot be compared: there the last point counts as the best.
func (c *Collapsed) answer(e evaluation) {
	last := c.batching() && e.gradient != nil
	if e = e.orUnusable(len(c.point)); last || e.value < c.best.value {
		c.best = lowest{e.value, c.point}
	}
	c.answers = append(c.answers, e)
	c.evaluated++
	c.descent.answer(e)
	if !c.aim() {
		c.settle()
	}
}

// orUnusable returns e, or a high value if e has no gradient, as after a failed factorization.
func (e evaluation) orUnusable(coordinates int) evaluation {
	if e.gradient != nil {
		return e
	}
	return evaluation{value: 1e6, gradient: make([]float64, coordinates)}
}

// settle ends the search and rounds the best θ to its grid. The next passes compute the posterior for this θ.
func (c *Collapsed) settle() {
	if c.descent != nil {
		c.descent.stop()
	}
	c.descent, c.answers = nil, nil
	c.stage, c.point, c.pass = settling, nil, gatherPass
	c.at = c.parametersAt(c.best.point)
	c.cfg.toGrid(c.at.theta)
}

// Settle ends the search early, unless nothing has been evaluated yet. The passes for the posterior remain.
func (c *Collapsed) Settle() {
	if c.descent != nil && c.best.point != nil {
		c.settle()
	}
}

// Close ends the trainer's workers and its search. Result may still be called.
func (c *Collapsed) Close() {
	if c.descent != nil {
		c.descent.stop()
		c.descent = nil
	}
	c.pool.Close()
}

// Inducing returns M, the number of inducing points.
func (c *Collapsed) Inducing() int { return c.start.z.Rows }

// Warning returns a message for the user about the start, or an empty text.
func (c *Collapsed) Warning() string { return c.warning }

// Done reports whether training has ended.
func (c *Collapsed) Done() bool { return c.stage == finished }

// Want returns the kind and the number of rows of the next pass.
func (c *Collapsed) Want() Pass {
	if c.batching() {
		return Pass{Kind: MiniBatch, Rows: c.cfg.Batch}
	}
	return Pass{Kind: FullPass, Rows: int(c.cfg.N)}
}

// Noise returns σ_n² of the lowest point so far, in scaled units.
func (c *Collapsed) Noise() float64 { return math.Exp(c.parametersAt(c.best.point).lnNoise) }

// Objective returns the lowest value of the objective so far, or the last one of a mini-batch.
func (c *Collapsed) Objective() float64 { return c.best.value }

// Progress returns the progress of training. During the search for an evidence, Bound is 1, because it is not computed.
func (c *Collapsed) Progress() Progress {
	p := c.last
	p.Step, p.Steps = c.evaluated, c.cfg.Evaluations
	switch {
	case c.Done():
		p.Phase, p.Steps = Settled, c.evaluated
	case c.stage == settling:
		p.Phase, p.Steps = Settle, c.evaluated
	case !c.cfg.Objective.bounds():
		p.Bound = 1
	}
	return p
}

var errWithoutRows = errors.New("model: a pass without rows")

// Begin starts a pass: its rows are added next, and then End is called.
func (c *Collapsed) Begin() error {
	if c.Done() || c.open {
		return errOutOfOrder
	}
	if c.open = c.batching(); c.open {
		c.batch = Rows{X: c.batch.X[:0], Y: c.batch.Y[:0], Dim: c.cfg.Dim}
		return nil
	}
	for c.pass == gatherPass {
		err := c.prepare(c.at)
		if err == nil {
			break
		}
		if c.stage == settling {
			return err
		}
		c.answer(evaluation{})
	}
	c.fold.begin(c.pass)
	c.open = true
	return nil
}

// Add adds rows to the pass: scaled features [n×d] and targets [n]. It does not keep the slices.
func (c *Collapsed) Add(x, y []float64) error {
	if !c.open || len(x) != len(y)*c.cfg.Dim {
		return errOutOfOrder
	}
	if c.batching() {
		c.batch.X, c.batch.Y = append(c.batch.X, x...), append(c.batch.Y, y...)
		return nil
	}
	c.fold.add(x, y)
	return nil
}

// End completes a pass.
func (c *Collapsed) End() error {
	if !c.open {
		return errOutOfOrder
	}
	c.open = false
	if c.batching() {
		if c.batch.Len() == 0 {
			return errWithoutRows
		}
		c.answer(c.evaluate(c.point, c.batch))
		return nil
	}
	c.fold.flush()
	if c.fold.seen == 0 {
		return errWithoutRows
	}
	done, err := c.complete()
	switch {
	case err != nil && c.stage == settling:
		return err
	case err != nil:
		c.answer(evaluation{})
	case done && c.stage == settling:
		c.finish()
	case done:
		c.answer(c.pulled())
	}
	return nil
}

// complete evaluates the sums of a pass. It reports whether that was the last pass of the evaluation.
func (c *Collapsed) complete() (done bool, err error) {
	if !c.fold.finite() {
		return false, fmt.Errorf("%w: after %d evaluations; are the rows scaled and finite?", ErrDiverged, c.evaluated)
	}
	switch c.pass {
	case gatherPass:
		if err := c.gathered(); err != nil {
			return false, err
		}
		if c.stage == settling || c.cfg.Objective.bounds() {
			c.pass = riskPass
			return false, nil
		}
	case riskPass:
		if c.measured(c.cfg.lnInverseWeight(c.at.theta)); c.stage == settling {
			return true, nil
		}
	case pullPass:
		return true, nil
	}
	c.prepull()
	c.pass = pullPass
	return false, nil
}

// finish stores the posterior and ends training.
func (c *Collapsed) finish() {
	c.stage = finished
	c.mean = append([]float64(nil), c.eval.mean...)
	c.precision = append([]float64(nil), c.eval.precision.Data...)
	for i := range c.mean {
		c.precision[i*len(c.mean)+i]++
	}
}

// Result returns the posterior and the grid indices of θ. It is an error before Done.
func (c *Collapsed) Result() (*Posterior, []int, error) {
	if !c.Done() {
		return nil, nil, errors.New("model: Result before the end of training")
	}
	at := c.parametersAt(c.best.point)
	c.cfg.toGrid(at.theta)
	return c.cfg.posterior(at.theta, at.z, c.mean, view(c.precision, len(c.mean)))
}

// StartInducing returns the start values of the inducing points, [M×d] in scaled units, sharing memory.
func (c *Collapsed) StartInducing() []float64 { return c.start.z.Data }
