package pipeline

import (
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// An Estimate says, before any row is read, what a run will take. It is rough:
// decoding and start values are not counted, and training may stop before its plan
// ends.
type Estimate struct {
	Inducing int           `json:"inducing"` // the largest candidate
	Steps    int           `json:"steps"`    // planned, of that candidate
	Batch    int           `json:"batch"`    // rows of a step
	Bytes    int64         `json:"bytes"`    // of memory
	Time     time.Duration `json:"time"`     // of all candidates' steps and the last pass
	Rate     float64       `json:"rate"`     // floating-point operations per second, measured on the last pass's arithmetic
}

// NewEstimate estimates a job on n train rows with d features. It measures the
// machine for about a tenth of a second.
func NewEstimate(job Job, n int64, d int, res Resources) (Estimate, error) {
	res = res.WithDefaults()
	candidates := job.Inducing
	if len(candidates) == 0 {
		candidates = []int{0}
	}
	var e Estimate
	var operations float64
	for _, m := range candidates {
		c := model.Config{N: n, Dim: d, Inducing: m, Plan: plan(job.Train, n, d, m)}.Scheduled()
		size := float64(c.Inducing)
		// A step takes about 3 M² a row and 7 M³ for the square matrices.
		square := size * size
		steps := float64(c.Plan.Joint)*(3*float64(c.Plan.Batch)+7*size)*square +
			float64(c.Plan.Settle)*(3*float64(c.Plan.SettleBatch)+7*size)*square
		operations += steps
		if c.Inducing >= e.Inducing {
			e.Inducing, e.Steps, e.Batch = c.Inducing, c.Plan.Joint+c.Plan.Settle, c.Plan.Batch
		}
	}
	m := float64(e.Inducing)
	operations += m * m * float64(n)
	var err error
	if e.Rate, err = rate(min(e.Inducing, 500), d, res.Workers); err != nil {
		return e, err
	}
	e.Time = time.Duration(operations / e.Rate * float64(time.Second))
	e.Bytes = int64(12*8*m*m) + 64<<20 // the trainer's squares; runtime and buffers
	if kept := n * int64(d+1) * 8; kept <= res.Memory {
		e.Bytes += kept
	}
	return e, nil
}

// rate measures the arithmetic of the last pass with m inducing points.
func rate(m, d, workers int) (float64, error) {
	p := &model.Posterior{
		Kernel: kernel.SquaredExponential{Lengthscales: make([]float64, d), Variance: 1}, Jitter: 1e-6,
		Z: make([]float64, m*d), Mean: make([]float64, m), L: make([]float64, m*m), Factor: make([]float64, m*m),
	}
	for j := range d {
		p.Kernel.Lengthscales[j] = 1
	}
	for i := range m {
		p.L[i*m+i], p.Factor[i*m+i] = 1, 1
	}
	predictor, err := model.NewPredictor(p, workers)
	if err != nil {
		return 0, fmt.Errorf("pipeline: estimate: %w", err)
	}
	defer predictor.Close()
	const rows = 2048
	x, mean, variance := make([]float64, rows*d), make([]float64, rows), make([]float64, rows)
	done := 0
	began := time.Now()
	for time.Since(began) < 100*time.Millisecond {
		if err := predictor.Predict(x, mean, variance); err != nil {
			return 0, fmt.Errorf("pipeline: estimate: %w", err)
		}
		done += rows
	}
	return float64(m) * float64(m) * float64(done) / time.Since(began).Seconds(), nil
}
