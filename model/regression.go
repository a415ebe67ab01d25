package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// A Regression adds up what least squares at the features of a posterior needs of some rows,
//
//	A = Σφφᵀ,  b = Σφy,  c = Σy²
//
// Rows can be added, and sums of parts merged, in any order to the same bits: features and targets are first
// rounded to whole numbers of a unit, and whole numbers are added. Targets are clamped to ±2¹⁰ scaled units, or
// to a wider range if features have more than the fewest bits. Features have 22 bits or, for more than half a
// million rows, half a bit less for each doubling. Memory is M² numbers. Not for concurrent use.
type Regression struct {
	posterior *Posterior
	pool      *linalg.Pool
	solver    *linalg.Solver
	invScale  []float64
	origin    []float64

	bits      int     // of a feature, as a whole number
	unit      float64 // of a feature, a power of two
	blockRows int     // rows whose products are added exactly in float64

	// Whole numbers: features, then the digits of the target in base 2^bits.
	block linalg.Mat // [blockRows×(M+digits)]
	sum   linalg.Mat // sums of products over one block
	rows  int64
	total []int64         // lower triangle by rows: sums of products
	found *regressionSums // as float64; nil before the first fit
}

const (
	digits       = 3       // of a target
	mostBits     = 22      // of a feature
	leastBits    = 12      // of a feature
	totalBits    = 63      // of a sum over all rows
	exactBits    = 52      // of a sum over a block
	targetUnit   = 0x1p-24 // of a target, in scaled units
	mostRowsOfIt = 1 << (totalBits - 2*leastBits)
)

// NewRegression returns empty sums for at most the given number of rows. Close it after use.
func NewRegression(p *Posterior, rows int64, workers int) (*Regression, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if rows < 0 || rows > mostRowsOfIt {
		return nil, fmt.Errorf("model: a regression on %d rows, want 0 to %d", rows, int64(mostRowsOfIt))
	}
	bits := mostBits
	for rows > 1<<(totalBits-2*bits) {
		bits--
	}
	m := p.Inducing()
	pool := linalg.NewPool(max(1, workers))
	r := &Regression{
		posterior: p, pool: pool, solver: pool.NewSolver(view(p.L, m)),
		invScale: p.inverseScales(), origin: medians(view(p.Z, p.Dim())),
		bits: bits, blockRows: min(sweepBlock, 1<<(exactBits-2*bits)),
		sum:   linalg.NewMat(m+digits, m+digits),
		total: make([]int64, (m+digits)*(m+digits+1)/2),
	}
	_, e := math.Frexp(math.Sqrt(p.Kernel.Variance) * outwards) // |φ|² ≤ k(x, x)
	r.unit = math.Ldexp(1, e-bits)
	r.block = linalg.NewMat(r.blockRows, m+digits)
	return r, nil
}

// Close ends the workers. The sums remain usable.
func (r *Regression) Close() { r.pool.Close() }

// Add adds rows: scaled features [n×d] and scaled targets [n].
func (r *Regression) Add(x, y []float64) error {
	d := r.posterior.Dim()
	if len(x) != len(y)*d {
		return fmt.Errorf("model: regression: %d feature values for %d targets of %d features", len(x), len(y), d)
	}
	for len(y) > 0 {
		n := min(len(y), r.blockRows)
		r.add(x[:n*d], y[:n])
		x, y = x[n*d:], y[n:]
	}
	return nil
}

// add adds at most blockRows rows.
func (r *Regression) add(x, y []float64) {
	n, m, d := len(y), r.posterior.Inducing(), r.posterior.Dim()
	k := r.posterior.Kernel
	z := view(r.posterior.Z, d)
	block := r.block.Slice(0, n, 0, m+digits)
	phi := block.Slice(0, n, 0, m)
	r.pool.Kernel(k.Family.Profile, view(x, d), z, r.origin, r.invScale, k.Variance, phi, linalg.Mat{})
	r.solver.Solve(phi)
	most := math.Ldexp(1, r.bits)
	r.pool.For(n, func(i int) {
		row := block.Row(i)
		for j, v := range row[:m] {
			row[j] = max(-most, min(most, math.RoundToEven(v/r.unit)))
		}
		r.digits(y[i], row[m:])
	})
	r.pool.Syrk(true, 1, block, 0, r.sum)
	r.rows, r.found = r.rows+int64(n), nil
	r.pool.For(m+digits, func(i int) {
		to := r.total[i*(i+1)/2:][:i+1]
		for j, v := range r.sum.Row(i)[:i+1] {
			to[j] += int64(v)
		}
	})
}

// digits writes a target to to, as a whole number of targetUnit in base 2^bits, the least digit first.
func (r *Regression) digits(y float64, to []float64) {
	base := math.Ldexp(1, r.bits)
	most := math.Ldexp(1, digits*r.bits-2)
	left := math.RoundToEven(max(-most, min(most, y/targetUnit)))
	for i := range to {
		low := math.RoundToEven(left / base)
		to[i] = left - low*base
		left = low
	}
}

// A Fit is the Gaussian distribution of the weights of a [Regression]. Its predictions have the mean φᵀw and
// the variance k(x,x) − |φ|² + φᵀB⁻¹φ, plus the noise, with
//
//	B = I + A/σ_n²,  w = B⁻¹b/σ_n²
type Fit struct {
	Law       *Posterior // N(w, B⁻¹) with the kernel and the inducing points of the regression's posterior
	Noise     float64    // σ_n², in squared scaled units
	Condition float64    // upper bound on the condition number of B: by at most so much do rounding errors of the weights grow
	Least     float64    // the least noise that the arithmetic can resolve; Noise is not above it if rows show none
}

const (
	lnNoiseStep = 1.0 / 16 // step of ln σ_n² in the search
	noiseStride = 16       // steps at once in the first, coarse search
	mostNoise   = 8.0      // greatest noise, in mean squares of the target
	relative    = 0x1p-46  // least noise, in units of tr A + σ²
)

// Fit returns the distribution of the weights, with the noise of the highest evidence bound (Titsias 2009)
//
//	−½(N ln 2πσ_n² + ln det B + c/σ_n² − bᵀB⁻¹b/σ_n⁴ + (N k(x,x) − tr A)/σ_n²)
//
// among values of ln σ_n² that are 1/16 apart.
func (r *Regression) Fit() (*Fit, error) {
	if r.rows == 0 {
		return nil, fmt.Errorf("model: a regression without rows")
	}
	s := r.sums()
	lowest := s.lowest()
	highest := max(lowest, int(math.Ceil(math.Log(mostNoise*s.squares/float64(r.rows)+s.least)/lnNoiseStep)))
	best, value := lowest, math.Inf(-1)
	try := func(at int) {
		if at < lowest || at > highest {
			return
		}
		if e := s.evidence(math.Exp(float64(at) * lnNoiseStep)); e > value {
			best, value = at, e
		}
	}
	for at := lowest; at <= highest; at += noiseStride {
		try(at)
	}
	for step := noiseStride / 2; step > 0; step /= 2 {
		middle := best
		try(middle - step)
		try(middle + step)
	}
	return r.At(math.Exp(float64(best) * lnNoiseStep))
}

// At returns the distribution of the weights with this noise.
func (r *Regression) At(noise float64) (*Fit, error) {
	s := r.sums()
	if e := s.evidence(noise); !(math.Abs(e) <= math.MaxFloat64) {
		return nil, fmt.Errorf("model: regression (M=%d): %w", r.posterior.Inducing(), ErrNotPositiveDefinite)
	}
	p := *r.posterior
	p.Mean, p.Factor = slices.Clone(s.mean), make([]float64, len(r.posterior.Factor))
	if err := covarianceFactor(r.pool, s.precision, view(p.Factor, len(p.Mean))); err != nil {
		return nil, err
	}
	return &Fit{Law: &p, Noise: noise, Condition: 1 + s.trace/noise, Least: math.Exp(float64(s.lowest()) * lnNoiseStep)}, nil
}

// regressionSums are the sums as float64, with memory for a solution.
type regressionSums struct {
	pool              *linalg.Pool
	rows              float64
	gram              linalg.Mat // A, symmetric
	moment            []float64  // b
	squares, trace    float64    // c, tr A
	least             float64    // noise that the arithmetic can resolve
	left              float64    // N k(x,x) − tr A ≥ 0
	mean              []float64
	precision, factor linalg.Mat
}

// lowest returns the least noise of the search, as a number of steps.
func (s *regressionSums) lowest() int { return int(math.Ceil(math.Log(s.least) / lnNoiseStep)) }

// sums converts the whole numbers into A, b and c, once.
func (r *Regression) sums() *regressionSums {
	if r.found != nil {
		return r.found
	}
	m := r.posterior.Inducing()
	s := &regressionSums{
		pool: r.pool, rows: float64(r.rows), gram: linalg.NewMat(m, m), moment: make([]float64, m),
		mean: make([]float64, m), precision: linalg.NewMat(m, m), factor: linalg.NewMat(m, m),
	}
	at := func(i, j int) float64 { return float64(r.total[i*(i+1)/2+j]) }
	for i := range m {
		row := s.gram.Row(i)
		for j := range i + 1 {
			row[j] = at(i, j) * r.unit * r.unit
		}
		s.trace += row[i]
	}
	r.pool.Mirror(s.gram)
	position := make([]float64, digits) // value of a digit
	for a := range position {
		position[a] = math.Ldexp(targetUnit, a*r.bits)
		for j := range m {
			s.moment[j] += at(m+a, j) * r.unit * position[a]
		}
		for b, low := range position[:a+1] {
			times := 2.0
			if a == b {
				times = 1
			}
			s.squares += times * at(m+a, m+b) * position[a] * low
		}
	}
	s.left, s.least = max(0, s.rows*r.posterior.Kernel.Variance-s.trace), relative*(s.trace+r.posterior.Kernel.Variance)
	r.found = s
	return s
}

// evidence computes the weights for a noise, and returns the evidence bound; −Inf if B has no Cholesky factor.
func (s *regressionSums) evidence(noise float64) float64 {
	if gaussianPosterior(s.pool, s.gram, s.moment, noise, s.mean, s.precision, s.factor) != nil {
		return math.Inf(-1)
	}
	det := 0.0
	for i := range s.mean {
		det += 2 * math.Log(s.factor.Row(i)[i])
	}
	return -0.5 * (s.rows*math.Log(2*math.Pi*noise) + det + (s.squares-linalg.Dot(s.moment, s.mean)+s.left)/noise)
}
