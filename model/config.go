package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// Config describes one training run. Loss, N, Delta, Dim and Grids are required;
// every other zero value means a default.
type Config struct {
	Dim   int       // number of inputs, d
	N     int64     // number of training rows
	Delta float64   // δ of the bound, in (0, 1)
	Loss  loss.Loss // for targets and predictions in scaled units
	// Examples is the N of the bound, at most the number of rows: less if examples are sets of rows. Zero means
	// that each row is an example.
	Examples int64

	// Kernel is the family of the covariance function. Nil means the first of [kernel.Families].
	Kernel *kernel.Family
	// Choice is the price of choosing the kernel, in nats, in addition to that of the Grids. Zero means that
	// there was no choice.
	Choice float64
	// ELBO minimises the negative evidence lower bound of a Gaussian likelihood
	//
	//	½N ln(2πσ_n²) + Σ E(f−y)²/2σ_n² + KL + ln 1/p_θ
	//
	// with the best noise, σ_n² = Σ E(f−y)²/N. After that it minimises the bound over the covariance of q
	// alone, with θ, Z and the mean of q fixed. False means that the bound is minimised from the start.
	ELBO bool
	Scales
	// Grids has one grid for each hyper-parameter: the ln lengthscales, then ln variance.
	Grids []Grid

	// Inducing is M. Zero means that the trainer chooses it by the bound of the start values, up to min(N,
	// 2000, 9√N, 300·Dim), rounded. The trainer lowers it to the number of different start rows.
	Inducing int
	// Jitter is relative to the kernel's variance, at most 0.1. Zero means 1e-6.
	Jitter float64
	// Plan is the schedule. Its zero fields are filled in from N and M.
	Plan Plan
	// Seed determines the choice of start rows and centres.
	Seed uint64
	// Workers is the number of goroutines that compute. It does not change any result. Zero means 1.
	Workers int

	// Starting, if not nil, is called after each evaluation of start values, with the number of evaluations so
	// far and the most that there will be. It must not block.
	Starting func(done, most int)

	coarseLeast int // if not zero, replaces the constant
}

// Plan is the schedule of a [Trainer]. A shorter plan takes less time and gives a looser bound; each stage
// adapts its rates to its own length.
type Plan struct {
	// Joint is the greatest number of steps that move θ, Z and q together. They end earlier when the bound
	// stops falling. Zero means 400,000/N, at least 60 and at most 120; for [Config.ELBO] it means three times
	// 1,800,000/N, from 180 to 360. Negative means none: θ and Z stay where they start.
	Joint int
	// Coarse is the greatest number of joint steps with a quarter of the inducing points, if training starts with
	// them. A sixth of Joint follows with all points. Zero means the rest of Joint, or twice that if Joint is zero.
	Coarse int
	// Batch is the number of rows of a joint step, at most N. N means full passes. Zero means max(min(N/5,
	// 32,000), 2M, 2500), or 6000 instead of 2500 for [Config.ELBO].
	Batch int
	// Settle is the greatest number of steps that refine q after θ has been rounded to its grid. They end
	// earlier when the bound stops falling. Zero means 30.
	Settle int
	// SettleBatch is the number of rows of a settle step. Zero means all N rows, but at most 200,000.
	SettleBatch int
	// EstimateRows is the number of start rows on which the hyper-parameters are estimated, in time that grows
	// with its cube. Zero, and more than 1,000, mean 1,000.
	EstimateRows int
}

// EstimateRows is the greatest number of rows that [Estimate] uses.
const EstimateRows = 1000

// Parameters returns the number of hyper-parameters: the lengthscales and the variance.
func (c Config) Parameters() int { return c.lengthscales(c.Dim) + 1 }

var (
	// ErrConfig reports a configuration that training cannot use.
	ErrConfig = errors.New("model: invalid configuration")
	// ErrNotPositiveDefinite reports a matrix that is positive definite in exact arithmetic and could not be
	// factorized. More jitter helps.
	ErrNotPositiveDefinite = errors.New("model: matrix is not positive definite")
	// ErrDiverged reports sums of a pass that are not finite.
	ErrDiverged = errors.New("model: training has diverged")
)

// withDefaults fills in the defaults and reports every fault.
func (c Config) withDefaults() (Config, error) {
	var faults faultList
	faults.when(c.Dim < 1, "%d inputs, want at least 1", c.Dim)
	faults.when(!c.fit(c.Dim), "%d inputs, and features of %d", c.Dim, c.Widths)
	faults.when(c.N < 1, "%d training rows, want at least 1", c.N)
	faults.when(c.Examples < 0 || c.Examples > c.N, "%d examples of %d rows", c.Examples, c.N)
	faults.when(!(c.Delta > 0 && c.Delta < 1), "delta is %g, want 0 < delta < 1", c.Delta)
	faults.when(c.Loss == nil, "no loss")
	faults.when(c.Inducing < 0, "%d inducing points", c.Inducing)
	faults.when(!(c.Jitter >= 0 && c.Jitter <= 0.1), "relative jitter is %g, want 0 (default) to 0.1", c.Jitter)
	faults.when(c.Plan.Coarse < 0 || c.Plan.Batch < 0 || c.Plan.Settle < 0 || c.Plan.SettleBatch < 0 || c.Plan.EstimateRows < 0, "a plan with %d coarse steps, %d rows a batch, %d steps of settling with batches of %d, and an estimate on %d rows: want no negative number",
		c.Plan.Coarse, c.Plan.Batch, c.Plan.Settle, c.Plan.SettleBatch, c.Plan.EstimateRows)
	faults.when(!(c.Choice >= 0) || math.IsInf(c.Choice, 1), "the choice of the kernel costs %g nats", c.Choice)
	faults.when(len(c.Grids) != c.Parameters(), "%d grids for %d hyper-parameters", len(c.Grids), c.Parameters())
	for i, g := range c.Grids {
		if err := g.validate(fmt.Sprintf("hyper-parameter %d", i)); err != nil {
			faults = append(faults, err)
		}
	}
	if err := faults.err(); err != nil {
		return c, err
	}
	c = c.Scheduled()
	c.Examples = cmp.Or(c.Examples, c.N)
	c.Kernel = cmp.Or(c.Kernel, kernel.Families()[0])
	c.Jitter = cmp.Or(c.Jitter, 1e-6)
	c.Workers = max(1, c.Workers)
	return c, nil
}

// A faultList gathers what is wrong with a configuration.
type faultList []error

// when adds the formatted fault if fault is true.
func (f *faultList) when(fault bool, format string, args ...any) {
	if fault {
		*f = append(*f, fmt.Errorf("model: "+format, args...))
	}
}

// err returns all faults as one [ErrConfig]; nil if there are none.
func (f faultList) err() error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrConfig, errors.Join(f...))
}

const (
	jointRows     = 400_000 // N times the default number of joint steps, which stays between the next two
	jointLeast    = 60
	jointMost     = 120
	batchLeast    = 2500
	batchMost     = 32_000
	defaultSettle = 30
	largePass     = 200_000   // default of Plan.SettleBatch
	evidenceRows  = 1_800_000 // replaces jointRows for the evidence bound
	evidenceSteps = 3         // factor of the number of joint steps for the evidence bound
	evidenceBatch = 6000      // replaces batchLeast for the evidence bound
)

func (p Plan) withDefaults(n int64, m int, elbo bool) Plan {
	if p.Joint == 0 {
		rows, times := int64(jointRows), int64(1)
		if elbo {
			rows, times = evidenceRows, evidenceSteps
		}
		p.Joint = int(times * min(jointMost, max(jointLeast, rows/max(1, n))))
		p.Coarse = cmp.Or(p.Coarse, 2*(p.Joint-p.fine()))
	}
	p.Joint = max(0, p.Joint)
	p.Coarse = cmp.Or(p.Coarse, p.Joint-p.fine())
	if p.Batch == 0 {
		least := int64(batchLeast)
		if elbo {
			least = evidenceBatch
		}
		p.Batch = int(min(n, max(min(n/5, batchMost), int64(2*m), least)))
	}
	p.Batch = int(min(n, int64(p.Batch)))
	p.Settle = cmp.Or(p.Settle, defaultSettle)
	p.SettleBatch = int(min(n, int64(cmp.Or(p.SettleBatch, largePass))))
	p.EstimateRows = min(cmp.Or(p.EstimateRows, EstimateRows), EstimateRows)
	return p
}

// startRows returns the greatest useful number of rows for [NewTrainer].
func (c Config) startRows() int {
	return int(min(max(c.N, 1), 20_000))
}

// Scheduled returns the configuration with the zero fields of its plan and of Inducing filled in. For Inducing
// that is the greatest number that a trainer may choose: it grows with the number of rows, which pays for the KL,
// but not beyond what a smooth function of few features can use.
func (c Config) Scheduled() Config {
	n := float64(c.N)
	c.Inducing = cmp.Or(c.Inducing, int(math.Round(min(n, 2000, 9*math.Sqrt(n), 300*float64(c.Dim)))))
	c.Plan = c.Plan.withDefaults(c.N, c.Inducing, c.ELBO)
	return c
}

// lnInverseWeight returns ln 1/p_θ in nats, interpolated between grid values.
func (c Config) lnInverseWeight(theta []float64) float64 {
	sum := c.Choice
	for i, g := range c.Grids {
		ln, _ := g.lnInverseWeightAt(theta[i])
		sum += ln
	}
	return sum
}

// toGrid rounds each element of θ to its grid.
func (c Config) toGrid(theta []float64) {
	for i, g := range c.Grids {
		theta[i] = g.Value(g.Nearest(theta[i]))
	}
}
