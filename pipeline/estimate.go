package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// An Estimate is the expected cost of a run, before any row is read.
type Estimate struct {
	Inducing int     `json:"inducing"` // the largest candidate
	Steps    int     `json:"steps"`    // planned, of that candidate
	Batch    int     `json:"batch"`    // rows of a step
	Bytes    int64   `json:"peak_memory_bytes"`
	Least    float64 `json:"seconds_least"` // if training converges early, on the machine at its fastest
	Most     float64 `json:"seconds_most"`  // with all planned steps, or up to train.time, on the machine at its slowest
	Rate     float64 `json:"operations_per_second"`
}

// A Sample has the facts about the rows of a job that are known before any is read.
type Sample struct {
	Rows     int64
	Bad      int64 // those known to be left out
	Features int
	Shards   int
	Batch    int   // rows of a batch
	Reader   int64 // bytes that reading holds beside batches: pages, dictionaries

	Units *certify.UnitLedger // of a job by units, from [Job.CountUnits]
}

// NewEstimate estimates a job. It measures the machine for about half a second.
func NewEstimate(job Job, s Sample, res Resources) (Estimate, error) {
	res, job = res.WithDefaults(), job.ForRows(s.Rows)
	e := Estimate{Bytes: PeakMemory(job, s, res)}
	var least, most float64 // operations
	n := s.train(job)
	for _, c := range candidates(job, s) {
		a, b := job.Train.operations(c)
		least, most = least+a, most+b
		if c.Inducing >= e.Inducing {
			e.Inducing, e.Steps, e.Batch = c.Inducing, c.Plan.Joint+refinements(c), c.Plan.Batch
		}
	}
	m := float64(e.Inducing)
	passes := m * m * float64(n)
	measured, err := rates(min(e.Inducing, 500), s.inputs(job), res.Workers)
	if err != nil {
		return e, err
	}
	e.time(least+passes, most+passes, measured, time.Duration(job.Train.Time))
	return e, nil
}

// time sets the times of the least and the most operations at the rates, in ascending order. A
// limit of training, unless it is 0, is followed by the least operations.
func (e *Estimate) time(least, most float64, rates []float64, limit time.Duration) {
	// Half a second does not show other load, or a warm processor that slows down.
	const slower = 1.5
	quarter := len(rates) / 4 // of the readings at either end are left out as outliers
	slow, fast := rates[quarter]/slower, rates[len(rates)-1-quarter]
	e.Rate = rates[len(rates)/2]
	if e.Least, e.Most = least/fast, most/slow; limit > 0 {
		e.Most = min(e.Most, limit.Seconds()+least/slow)
	}
}

// inputs is the number of inputs, at most.
func (s Sample) inputs(job Job) int { return s.Features + job.Encode.more() }

// train is the number of train rows.
func (s Sample) train(job Job) int64 {
	return s.Rows - s.Bad - job.references(s.Rows) - s.apart(job, job.Roles.Holdout) - s.apart(job, job.Roles.Outside)
}

// apart is the approximate number of rows of a share that is set apart by hash.
func (s Sample) apart(job Job, share float64) int64 {
	rows := s.Rows
	if job.Roles.By == RolesByPosition { // no reference row is one
		rows -= job.references(rows)
	}
	return int64(share * float64(rows))
}

// candidates are the configurations of a job's trainers in turn, as far as they are known before
// any row is read.
func candidates(job Job, s Sample) []model.Config {
	sizes := job.Inducing
	if len(sizes) == 0 {
		sizes = []int{0} // the trainer's rule in N
	}
	n, d := s.train(job), s.inputs(job)
	var all []model.Config
	for _, name := range job.Kernel.Family {
		family, err := kernel.Named(name)
		if err != nil {
			continue // WithDefaults refuses it
		}
		for _, m := range sizes {
			c := model.Config{N: n, Dim: d, Kernel: family, Inducing: m, Goal: job.goal(), Plan: plan(job.Train, n, d, m)}.Scheduled()
			if job.Train.Method != MethodFreeForm {
				c = job.Train.planned(c, m)
			}
			c.Inducing = int(min(int64(c.Inducing), s.Rows)) // there are no more different points
			all = append(all, c)
		}
	}
	return all
}

// operations bounds the operations of training, start values included, in the unit of [rates]: a row
// of the last pass has M². A step takes about 3 M² a row and 7 M³ for the square matrices.
func operations(c model.Config) (least, most float64) {
	m := float64(c.Inducing)
	step := func(batch int) float64 { return (3*float64(batch) + 7*m) * m * m }
	starts := min(float64(c.N), startRows)
	estimate := min(starts, float64(c.Plan.EstimateRows))
	const estimateSteps, noises, scored = 50, 5, 2048
	start := estimateSteps*1.5*estimate*estimate*estimate +
		2*starts*m*m + noises*(3*m+2*min(starts, scored))*m*m
	const fewestJoint, fewestSettle = 15, 3 // steps, before convergence ends them
	least = start/2 + float64(min(c.Plan.Joint, fewestJoint))*step(c.Plan.Batch) + float64(min(c.Plan.Settle, fewestSettle))*step(c.Plan.SettleBatch)
	most = start + float64(c.Plan.Joint)*step(c.Plan.Batch) + float64(refinements(c))*step(c.Plan.SettleBatch)
	return least, most
}

// refinements is the largest number of steps after θ is on its grid.
func refinements(c model.Config) int {
	if c.Goal == model.GoalBound {
		return c.Plan.Settle
	}
	return 2 * c.Plan.Settle
}

// rates measures the speed of the last pass with m inducing points several times, because it
// varies. The rates, in operations a second, are in ascending order.
func rates(m, d, workers int) ([]float64, error) {
	p := &model.Posterior{
		Kernel: kernel.Kernel{Family: kernel.SquaredExponential, Lengthscales: make([]float64, d), Variance: 1}, Jitter: 1e-6,
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
		return nil, fmt.Errorf("pipeline: estimate: %w", err)
	}
	defer predictor.Close()
	const rows, repetitions, each = 2048, 9, 60 * time.Millisecond
	x, mean, variance := make([]float64, rows*d), make([]float64, rows), make([]float64, rows)
	var found []float64
	for range repetitions {
		done := 0
		began := time.Now()
		for done == 0 || time.Since(began) < each {
			if err := predictor.Predict(x, mean, variance); err != nil {
				return nil, fmt.Errorf("pipeline: estimate: %w", err)
			}
			done += rows
		}
		found = append(found, float64(m)*float64(m)*float64(done)/time.Since(began).Seconds())
	}
	slices.Sort(found)
	return found, nil
}
