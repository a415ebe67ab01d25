package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// A PassKind says how the rows of a pass are chosen.
type PassKind int

// The kinds of passes.
const (
	FullPass  PassKind = iota // all training rows once, in the fixed order
	MiniBatch                 // the next Rows rows of the shuffled stream
)

// A Pass describes the rows of the next pass of a [Trainer].
type Pass struct {
	Kind PassKind
	Rows int // number of rows to add
}

// A Phase is a stage of training.
type Phase int

// The phases, in order.
const (
	Joint      Phase = iota // θ, Z and q move
	Settle                  // θ is fixed on its grid, Z is fixed, q is refined
	Covariance              // of [Config.ELBO]: the bound is minimised over the covariance of q, its mean stays
	Settled                 // done
)

// String returns the phase's name.
func (p Phase) String() string { return [...]string{"joint", "settle", "covariance", "done"}[p] }

// Progress is the progress of training. In the joint phase Bound and Risk are means of the last passes, about an epoch;
// KL and LnInverseWeight, in nats, are those of the last pass. All are estimates, and never the certificate's numbers.
type Progress struct {
	Phase           Phase
	Step, Steps     int // completed passes, and the most that there will be
	Bound           float64
	Risk            float64
	KL              float64
	LnInverseWeight float64 // ln 1/p_θ

	squares float64 // mean of E(f−y)²
	value   float64 // of what is minimised
	noise   float64 // standard error of Risk, or of squares while the evidence bound is minimised
}

// A Trainer is a step machine that fits a [Posterior] by minimising the bound. Its caller reads rows and owns the loop:
//
//	for !t.Done() {
//		pass := t.Want()
//		t.Begin()
//		// t.Add the rows of pass, in order, in chunks of any size
//		t.End()
//	}
//
// Results depend on configuration, start rows and the rows added, but not on the chunks and not on Workers.
// Memory is O(M² + M·block). Not for concurrent use.
type Trainer struct {
	cfg   Config
	pool  *linalg.Pool
	sweep *sweep

	state

	startNoise         int // index of the best of noiseCandidates so far
	starts, mostStarts int // evaluations of start values, and the most that there will be

	// Derived from the state by Begin.
	open     bool
	kl       float64 // KL(q‖p) in nats
	prior    *prior
	fresh    bool       // prior belongs to θ and z
	factor   linalg.Mat // lower: Λ = RRᵀ
	factored bool       // factor belongs to the precision
	sMinus   linalg.Mat // S − I, symmetric

	// Scratch.
	work     linalg.Mat // [M×M]
	meanStep []float64  // [M]: of a natural-gradient step
	gradient hyperGradient
}

// NewTrainer returns a trainer with start values found from the start rows, which are scaled: prior rows first,
// then training rows in the order of their hashes of the split. [Config.StartRows] says how many are of use.
// The rows are not kept. Close the trainer after use.
func NewTrainer(cfg Config, start Rows) (*Trainer, error) {
	grow := cfg.Inducing == 0
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := start.Validate(); err != nil {
		return nil, err
	}
	if start.Len() == 0 || start.Dim != cfg.Dim {
		return nil, fmt.Errorf("%w: %d start rows of %d features, want at least one of %d", ErrConfig, start.Len(), start.Dim, cfg.Dim)
	}
	start = start.Slice(0, min(start.Len(), cfg.startRows()))
	t := &Trainer{cfg: cfg, pool: linalg.NewPool(cfg.Workers), startNoise: usualNoise}
	if err := t.startValues(start, grow); err != nil {
		t.Close()
		return nil, err
	}
	t.skipEmptyPhases()
	return t, nil
}

// Close ends the trainer's workers. Result may still be called.
func (t *Trainer) Close() { t.pool.Close() }

// allocate makes room for m inducing points.
func (t *Trainer) allocate(m int) {
	p := t.cfg.Parameters()
	t.prior = newPrior(t.pool, t.cfg.Kernel.Profile, t.cfg.of(t.cfg.Dim), t.cfg.Jitter, m)
	t.sweep = newSweep(t.prior, t.cfg.Loss, m, t.cfg.Dim)
	t.squares = make([]float64, t.cfg.Plan.window(t.cfg.N))
	t.risks = make([]float64, t.cfg.Plan.window(t.cfg.N))
	t.noises = make([]float64, t.cfg.Plan.window(t.cfg.N))
	t.theta, t.frozen = make([]float64, p), make([]float64, p)
	t.bestTheta, t.bestZ = make([]float64, p), linalg.NewMat(m, t.cfg.Dim)
	t.mean, t.bestMean = make([]float64, m), make([]float64, m)
	t.precision, t.bestLambda = linalg.NewMat(m, m), linalg.NewMat(m, m)
	t.optTheta, t.optZ = newAdam(p), newAdam(m*t.cfg.Dim)
	if !t.cfg.ELBO {
		t.optTheta.beta2, t.optZ.beta2 = boundBeta2, boundBeta2
	}
	t.factor = linalg.NewMat(m, m)
	t.sMinus, t.work = linalg.NewMat(m, m), linalg.NewMat(m, m)
	t.meanStep = make([]float64, m)
	t.gradient = hyperGradient{theta: make([]float64, p), z: linalg.NewMat(m, t.cfg.Dim)}
	t.best.value, t.settleSteps = math.Inf(1), t.cfg.Plan.Settle
	t.slowed, t.keepNegative = 1, 1
	t.reached, t.jointBound, t.gainBound = math.Inf(1), math.Inf(1), math.Inf(1)
}

// Inducing returns M, the number of inducing points, which may be less than was asked for.
func (t *Trainer) Inducing() int { return t.z.Rows }

// Warning returns a message for the user about the start or the end of training, or an empty text.
func (t *Trainer) Warning() string { return t.warning }

// Done reports whether training has ended.
func (t *Trainer) Done() bool { return t.phase == Settled }

// Want returns the kind and the number of rows of the next pass.
func (t *Trainer) Want() Pass {
	n := t.cfg.Plan.Batch
	if t.phase != Joint {
		n = t.cfg.Plan.SettleBatch
	}
	if all := t.cfg.N; int64(n) >= all {
		return Pass{Kind: FullPass, Rows: int(all)}
	}
	return Pass{Kind: MiniBatch, Rows: n}
}

// Progress returns the progress of training.
func (t *Trainer) Progress() Progress {
	p := t.last
	if t.phase == Joint && t.step > 0 {
		p = t.running()
	}
	p.Phase, p.Step = t.phase, t.stepsDone
	if p.Steps = t.stepsDone; t.phase == Settled {
		return p
	}
	p.Steps += t.settleSteps - t.step
	if t.phase == Joint {
		p.Steps += t.jointSteps()
	}
	if t.byEvidence() {
		p.Steps += t.cfg.Plan.Settle
	}
	return p
}

// Settle shortens training. In the joint phase it puts θ on its grid now and starts the settle phase. In a
// later phase it ends training after the next pass. It must not be called between Begin and End.
func (t *Trainer) Settle() {
	switch t.phase {
	case Joint:
		t.toGrid()
	case Settle, Covariance:
		t.settleSteps = t.step + 1
	case Settled:
	}
}

// skipEmptyPhases ends the joint phase if it has no steps.
func (t *Trainer) skipEmptyPhases() {
	if t.phase == Joint && t.step >= t.jointSteps() {
		t.toGrid()
	}
}

// Begin starts a pass: its rows are added next, and then End is called.
func (t *Trainer) Begin() error {
	if t.Done() || t.open {
		return fmt.Errorf("model: Begin out of order (phase %v)", t.phase)
	}
	if err := errors.Join(t.round(), t.derive()); err != nil {
		return err
	}
	t.sweep.keepNegative, t.sweep.likelihood, t.sweep.evidence = t.keepNegative, t.likelihood, t.byEvidence()
	t.sweep.reset(t.phase == Joint)
	t.open = true
	return nil
}

// Add adds rows to the pass: scaled features [n×d] and targets [n]. It does not keep the slices.
func (t *Trainer) Add(x, y []float64) error {
	if !t.open || len(x) != len(y)*t.cfg.Dim {
		return fmt.Errorf("model: Add out of order, or %d feature values for %d targets of %d features", len(x), len(y), t.cfg.Dim)
	}
	t.sweep.add(x, y)
	return nil
}

// End completes a pass: it updates q and, in the joint phase, θ and Z.
func (t *Trainer) End() error {
	if !t.open {
		return errors.New("model: End without Begin")
	}
	t.open = false
	t.sweep.flush()
	if t.sweep.seen == 0 {
		return errors.New("model: a pass without rows")
	}
	if firstNotFinite([]float64{t.sweep.risk, t.sweep.gSelf}) >= 0 || firstNotFinite(t.sweep.h) >= 0 {
		return fmt.Errorf("%w: risk %g after %d steps; are the rows scaled and finite?", ErrDiverged, t.sweep.risk, t.stepsDone)
	}
	t.step++
	t.stepsDone++
	if t.phase == Joint {
		return t.endJoint()
	}
	return t.endSettle()
}

// measure records risk, KL and bound of the q of this pass, and returns the factor from sums over the pass to
// sums over what the KL is weighed against: all rows for the evidence bound, else the examples of the bound.
func (t *Trainer) measure() (scale float64) {
	seen := float64(t.sweep.seen)
	t.last = t.valued(Progress{Risk: t.sweep.risk / seen, KL: t.kl, LnInverseWeight: t.cfg.lnInverseWeight(t.theta), squares: t.sweep.squares / seen})
	t.last.noise = t.sampling()
	if t.byEvidence() {
		return float64(t.cfg.N) / seen
	}
	return float64(t.cfg.Examples) / seen
}

// sampling returns the standard error of the mean that is minimised, Risk or squares. The rows of the pass are
// drawn from all N without replacement.
func (t *Trainer) sampling() float64 {
	n := float64(t.sweep.seen)
	mean := t.sweep.risk / n
	if t.byEvidence() {
		mean = t.sweep.squares / n
	}
	return math.Sqrt(max(0, t.sweep.spread/n-mean*mean) / n * max(0, 1-n/float64(t.cfg.N)))
}

// Result returns the posterior and the grid indices of θ. It is an error before Done.
func (t *Trainer) Result() (*Posterior, []int, error) {
	if !t.Done() {
		return nil, nil, errors.New("model: Result before the end of training")
	}
	return t.cfg.posterior(t.theta, t.z, t.mean, t.precision)
}

// posterior returns the posterior of a θ on its grid, and θ's grid indices.
func (c Config) posterior(theta []float64, z linalg.Mat, mean []float64, precision linalg.Mat) (*Posterior, []int, error) {
	pool := linalg.NewPool(c.Workers)
	defer pool.Close()
	m := z.Rows
	indices := make([]int, len(theta))
	for i, g := range c.Grids {
		indices[i] = g.Nearest(theta[i])
	}
	k := c.kernelAt(theta)
	p := &Posterior{
		Kernel: k,
		Jitter: c.Jitter * k.Variance,
		Z:      append([]float64(nil), z.Data...),
		Mean:   append([]float64(nil), mean...),
		Factor: make([]float64, m*m),
	}
	kuu := linalg.NewMat(m, m)
	if err := factorKuu(pool, p.Kernel, z, p.Jitter, kuu); err != nil {
		return nil, nil, err
	}
	p.L = kuu.Data
	if err := covarianceFactor(pool, precision, view(p.Factor, m)); err != nil {
		return nil, nil, err
	}
	return p, indices, nil
}

// kernelAt returns the kernel of a θ on its grid.
func (c Config) kernelAt(theta []float64) kernel.Kernel {
	k := kernel.Kernel{Family: c.Kernel, Lengthscales: make([]float64, c.Dim), Variance: Exponential(theta[len(theta)-1])}
	for j, i := range c.of(c.Dim) {
		k.Lengthscales[j] = Exponential(theta[i])
	}
	return k
}

// factorKuu sets l to the lower factor of K_ZZ + jI. It computes the kernel by direct differences with the
// reference implementation.
func factorKuu(pool *linalg.Pool, k kernel.Kernel, z linalg.Mat, jitter float64, l linalg.Mat) error {
	pool.For(z.Rows, func(i int) {
		k.Row(l.Row(i)[:i+1], z.Row(i), z.Data)
		l.Row(i)[i] += jitter
	})
	if !pool.Cholesky(l) {
		return fmt.Errorf("model: factorize K_ZZ (M=%d, jitter %g): %w", z.Rows, jitter, ErrNotPositiveDefinite)
	}
	return nil
}

// covarianceFactor sets c to the lower factor of S = Λ⁻¹.
func covarianceFactor(pool *linalg.Pool, precision, c linalg.Mat) error {
	m := precision.Rows
	r, inverse := linalg.NewMat(m, m), linalg.NewMat(m, m)
	copy(r.Data, precision.Data)
	if !pool.Cholesky(r) {
		return fmt.Errorf("model: factorize the precision of q (M=%d): %w", m, ErrNotPositiveDefinite)
	}
	invertLower(pool, r, inverse)
	gramLower(pool, inverse, c)
	if !pool.Cholesky(c) {
		return fmt.Errorf("model: factorize the covariance of q (M=%d): %w", m, ErrNotPositiveDefinite)
	}
	return nil
}
