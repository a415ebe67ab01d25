package model

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// A Rule makes the posterior that follows from rows by the rule of docs/format.md, section 9: there
// is nothing to choose in it, so that whoever has the rows makes the same one. θ is the estimate of
// [Estimate] on start rows, put on its grids; Z are k-means centres of start rows; Q is the posterior
// of a Gaussian likelihood (DTC) from all rows, in one pass. Behind the estimate, which grids make
// robust, all arithmetic is that of package linalg, or of single operations that no compiler fuses:
// the bits are the same on every machine.
type Rule struct {
	cfg   Config
	pool  *linalg.Pool
	first Rows // of the pass
	open  bool
	rows  rowBlock
	prior prior // without K_ZZ
	phi   linalg.Mat
	white *linalg.Solver

	ruleState
}

// ruleState is the result. Before the pass there is no more than the start rows tell.
type ruleState struct {
	theta     []float64
	lnNoise   float64
	z         linalg.Mat
	gram      linalg.Mat // ΦᵀΦ
	moment    []float64  // Φᵀy
	mean      []float64
	precision linalg.Mat
	done      bool
	notice    string
}

// Limits of the rule.
const (
	// RuleRows is the greatest number of start rows that θ is estimated on.
	RuleRows = 1000
	// NoiseStep is the step of the grid of ln σ_n², which has the value 0.
	NoiseStep = 0.25
	// undecided is the part of a step within which an estimate does not tell between two values.
	undecided = 1e-6
)

// ErrUndecided says that an estimate lies in the middle between two values of a grid, so that
// machines that round in another way may take another one.
var ErrUndecided = errors.New("model: the rule does not decide between two values of a hyper-parameter")

// NewRule returns a trainer of one pass. The start rows are those of lowest rank, in the order of
// their ranks; the first rows of the pass are given beforehand, and are no part of N.
func NewRule(cfg Config, start, first Rows) (*Rule, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(start.Validate(), first.Validate()); err != nil {
		return nil, err
	}
	if start.Len() == 0 || start.Dim != cfg.Dim || first.Dim != cfg.Dim {
		return nil, fmt.Errorf("%w: %d start rows of %d features, want at least one of %d", ErrConfig, start.Len(), start.Dim, cfg.Dim)
	}
	r := &Rule{cfg: cfg, pool: linalg.NewPool(cfg.Workers), first: first}
	if err := r.begin(usualRows(start)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// begin finds θ, σ_n² and Z, and L.
func (r *Rule) begin(start Rows) error {
	e, err := estimate(r.pool, start.Slice(0, min(start.Len(), RuleRows)), r.cfg.Kernel, r.cfg.Scales, func() {})
	if err != nil {
		return err
	}
	for i, g := range r.cfg.Grids {
		v, err := decided(e.Theta[i], g.Min, g.Step)
		if err != nil {
			return err
		}
		r.theta = append(r.theta, g.Value(g.Nearest(v)))
	}
	if r.lnNoise, err = decided(e.LnNoise, 0, NoiseStep); err != nil {
		return err
	}
	k := r.cfg.kernelAt(r.theta)
	invScale := make([]float64, r.cfg.Dim)
	for j, l := range k.Lengthscales {
		invScale[j] = 1 / l
	}
	inOrder := func(n int) []int {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		return order
	}
	r.z = kmeans(r.pool, start, invScale, r.cfg.Inducing, inOrder)
	r.notice = fewerInducing(r.z.Rows, r.cfg.Inducing)
	m := r.z.Rows
	l := linalg.NewMat(m, m)
	if err := factorKuu(r.pool, k, r.z, r.cfg.Jitter*k.Variance, l); err != nil {
		return err
	}
	r.white = r.pool.NewSolver(l)
	r.prior = prior{pool: r.pool, profile: k.Family.Profile, z: r.z, origin: medians(r.z), limit: limits(r.z), invScale: invScale, variance: k.Variance}
	r.rows, r.phi = newRowBlock(r.cfg.Dim), linalg.NewMat(sweepBlock, m)
	r.gram, r.moment = linalg.NewMat(m, m), make([]float64, m)
	return nil
}

// decided returns the value at a multiple of step from least on that is nearest to v.
func decided(v, least, step float64) (float64, error) {
	at := (v - least) / step
	if off := math.Abs(at - math.Floor(at) - 0.5); !(off > undecided) {
		return 0, fmt.Errorf("%w: %v lies between two, %v apart (hint: another grid.step)", ErrUndecided, v, step)
	}
	return least + float64(math.Round(at)*step), nil
}

// Begin starts the pass.
func (r *Rule) Begin() error {
	if r.done || r.open {
		return errOutOfTurn
	}
	r.open = true
	return r.Add(r.first.X, r.first.Y)
}

// Add takes rows of the pass: scaled features [n×d] and targets [n].
func (r *Rule) Add(x, y []float64) error {
	if !r.open || len(x) != len(y)*r.cfg.Dim {
		return errOutOfTurn
	}
	r.rows.collect(x, y, &r.prior, func() {}, r.flush)
	return nil
}

// flush adds up the gathered block.
func (r *Rule) flush() {
	n := r.rows.kernel(&r.prior, r.phi, linalg.Mat{})
	if n == 0 {
		return
	}
	addLeastSquares(r.pool, r.white, r.phi.Slice(0, n, 0, r.z.Rows), r.rows.y[:n], r.gram, r.moment)
}

// End makes the posterior.
func (r *Rule) End() error {
	if !r.open {
		return errOutOfTurn
	}
	r.flush()
	r.open, r.done = false, true
	r.pool.Mirror(r.gram)
	m := r.z.Rows
	r.mean, r.precision = make([]float64, m), linalg.NewMat(m, m)
	return gaussianPosterior(r.pool, r.gram, r.moment, Exponential(r.lnNoise), r.mean, r.precision, linalg.NewMat(m, m))
}

// Result returns the posterior and θ's grid indices. It is valid when Done.
func (r *Rule) Result() (*Posterior, []int, error) {
	if !r.done {
		return nil, nil, errors.New("model: Result before the end of training")
	}
	return r.cfg.posterior(r.theta, r.z, r.mean, r.precision)
}

// Noise returns σ_n², in scaled units.
func (r *Rule) Noise() float64 { return Exponential(r.lnNoise) }

// Done reports whether the posterior is made.
func (r *Rule) Done() bool { return r.done }

// Want asks for a pass over all rows.
func (r *Rule) Want() Pass { return Pass{Kind: FullPass, Rows: int(r.cfg.N)} }

// Settle does nothing: there is nothing to hurry.
func (r *Rule) Settle() {}

// Inducing returns M.
func (r *Rule) Inducing() int { return r.z.Rows }

// Notice returns a message for the user, or "".
func (r *Rule) Notice() string { return r.notice }

// Close ends the trainer's workers. Result may still be called.
func (r *Rule) Close() { r.pool.Close() }

// Progress returns the progress. The bound is unknown, and reported as 1.
func (r *Rule) Progress() Progress {
	p := Progress{Phase: Settle, Steps: 1, Bound: 1}
	if r.done {
		p.Phase, p.Step = Settled, 1
	}
	return p
}

// ruleFormat begins every state of a [Rule] and names its version.
const ruleFormat = "pacsgp-rule/1"

// MarshalBinary returns the posterior, or before the pass nothing that is not made again in seconds.
func (r *Rule) MarshalBinary() ([]byte, error) {
	if r.open {
		return nil, errors.New("model: state asked for inside a pass")
	}
	var out bytes.Buffer
	w := beginState(&out, ruleFormat, r.cfg.fingerprint())
	if m := r.z.Rows; r.done {
		w.Integers(int64(m))
		w.Floats(r.lnNoise)
		for _, v := range [][]float64{r.theta, r.z.Data, r.mean, r.precision.Data} {
			w.Floats(v...)
		}
		w.Text(r.notice)
	} else {
		w.Integers(0)
	}
	err := w.Close()
	return out.Bytes(), err
}

// ResumeRule returns the trainer whose state was written, under the same configuration and from the
// same rows.
func ResumeRule(cfg Config, state []byte, start, first Rows) (*Rule, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := openState(state, ruleFormat, cfg.fingerprint())
	m := int(s.UpTo(int64(cfg.Inducing)))
	r := &Rule{cfg: cfg, pool: linalg.NewPool(cfg.Workers)}
	if r.done = m > 0 && s.Err() == nil; r.done {
		r.theta, r.z, r.mean, r.precision = make([]float64, cfg.Parameters()), linalg.NewMat(m, cfg.Dim), make([]float64, m), linalg.NewMat(m, m)
		r.lnNoise = s.Float()
		for _, v := range [][]float64{r.theta, r.z.Data, r.mean, r.precision.Data} {
			s.Floats(v)
		}
		r.notice = s.Text(longestText)
	}
	if err := s.Close(); err != nil {
		r.Close()
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if r.done {
		return r, nil
	}
	r.Close()
	return NewRule(cfg, start, first)
}
