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
	Inducing int     `json:"inducing"`                 // the largest candidate
	Fewest   int     `json:"inducing_least,omitempty"` // that start values may choose
	Steps    int     `json:"steps"`                    // planned, of that candidate
	Batch    int     `json:"batch"`                    // rows of a step
	Bytes    int64   `json:"peak_memory_bytes"`
	Seconds  float64 `json:"seconds"`       // usual, with the largest candidates
	Least    float64 `json:"seconds_least"` // with the fewest points and steps, on the machine at its fastest
	Most     float64 `json:"seconds_most"`  // with all planned steps, or up to train.time, on the machine at its slowest
	Rate     float64 `json:"operations_per_second"`
}

// A cost is a number of operations: the least, the usual and the most. The unit is an operation of
// the last pass with many inducing points, which takes M² a row.
type cost struct{ least, usual, most float64 }

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
	grown := len(job.Inducing) == 0 && job.Train.Method == MethodFreeForm
	var all cost
	for _, c := range candidates(job, s) {
		sizes := []int{c.Inducing}
		if grown {
			sizes = model.Doublings(c.Inducing)
		}
		passes := func(m int) float64 { return rowWork(m, float64(s.train(job))) }
		each := job.Train.operations(c, sizes, res.Workers)
		all.least += each.least + passes(sizes[0])
		all.usual += each.usual + passes(c.Inducing)
		all.most += each.most + passes(c.Inducing)
		if c.Inducing >= e.Inducing {
			e.Inducing, e.Steps, e.Batch = c.Inducing, c.Plan.Joint+refinements(c), c.Plan.Batch
		}
		if grown {
			e.Fewest = sizes[0]
		}
	}
	measured, err := rates(s.inputs(job), res.Workers)
	if err != nil {
		return e, err
	}
	e.time(all, measured, time.Duration(job.Train.Time))
	return e, nil
}

// time sets the times of a cost at the rates, in ascending order. A limit of training, unless it
// is 0, is followed by the least operations.
func (e *Estimate) time(c cost, rates []float64, limit time.Duration) {
	// Half a second does not show other load, or a warm processor that slows down.
	const slower = 1.5
	quarter := len(rates) / 4 // of the readings at either end are left out as outliers
	slow, fast := rates[quarter]/slower, rates[len(rates)-1-quarter]
	e.Rate = rates[len(rates)/2]
	if e.Least, e.Seconds, e.Most = c.least/fast, c.usual/e.Rate, c.most/slow; limit > 0 {
		e.Seconds = min(e.Seconds, limit.Seconds()+c.least/e.Rate)
		e.Most = min(e.Most, limit.Seconds()+c.least/slow)
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
	fitted := job.Train.fitted(n)
	var all []model.Config
	for _, name := range job.Kernel.Family {
		family, err := kernel.Named(name)
		if err != nil {
			continue // WithDefaults refuses it
		}
		for _, m := range sizes {
			c := model.Config{N: n, Fitted: fitted, Dim: d, Kernel: family, Inducing: m, Goal: job.goal(), Plan: job.plan(fitted, d, m)}.Scheduled()
			if job.Train.Method != MethodFreeForm {
				c = job.Train.planned(c, m)
			}
			c.Inducing = int(min(int64(c.Inducing), s.Rows)) // there are no more different points
			all = append(all, c)
		}
	}
	return all
}

// The operations beside those of M² a row and M³ were measured, in the unit of [cost], with 30 to
// 1,000 inducing points, 4 to 26 features and 100 to 20,000 rows: of a row for its loss and for each
// inducing point, and of a step for each element of a square matrix, on one processor.
const (
	rowCost, pointCost, elementCost = 14_000, 200, 1200
)

// rowWork is the cost of the mean, the variance and the loss of rows with m inducing points.
func rowWork(m int, rows float64) float64 {
	return rows * (float64(m)*float64(m) + pointCost*float64(m) + rowCost)
}

// operations are the operations of training, start values included, with the largest of the sizes
// or, at least, the smallest: start values try some or all. A step takes about 3 M² a row and 7 M³
// for the square matrices, without the gradient of θ and Z 1 M² and 6 M³.
func operations(c model.Config, sizes []int, workers int) cost {
	step := func(m, batch int, gradient float64) float64 {
		square := float64(m) * float64(m)
		squares := 2*gradient*float64(batch) + (6+gradient)*float64(m) + elementCost*float64(workers)*gradient
		return rowWork(m, float64(batch)) + squares*square
	}
	const noises, scored, rounds = 5, 4096, 8
	rows := int(min(c.N, startRows))
	start := func(m int) float64 {
		return float64(rows*(rounds*m*pointCost+rowCost)) + rowWork(m, float64(rows)) +
			noises*step(m, min(rows, scored), 0)
	}
	estimate := estimateWork(float64(min(rows, c.Plan.EstimateRows)))
	fewest, most := sizes[0], sizes[len(sizes)-1]
	var tried, some float64
	for i, m := range sizes {
		tried += start(m)
		if i <= 2 { // two sizes without a gain end the search
			some = tried
		}
	}
	if len(sizes) > 1 {
		some += start(fewest)
	}
	const few, usual = 3, 12 // steps, before convergence ends the last phases
	settle := func(m, steps int) float64 { return float64(steps) * step(m, c.Plan.SettleBatch, 0) }
	joint := float64(c.Plan.Joint) * step(most, c.Plan.Batch, 1)
	return cost{
		least: estimate + some + float64(c.Plan.Fewest(c.Goal))*step(fewest, c.Plan.Batch, 1) + settle(fewest, min(c.Plan.Settle, few)),
		usual: estimate + tried + joint + settle(most, min(refinements(c), usual)),
		most:  estimate + tried + joint + settle(most, refinements(c)),
	}
}

// estimateWork is the cost of the estimate of the hyper-parameters on rows.
func estimateWork(rows float64) float64 {
	const steps = 50
	return steps * (1.5*rows + pointCost) * rows * rows
}

// refinements is the largest number of steps after θ is on its grid.
func refinements(c model.Config) int {
	if c.Goal == model.GoalBound {
		return c.Plan.Settle
	}
	return 2 * c.Plan.Settle
}

// rates measures the speed of the last pass several times, because it varies, with so many inducing
// points that M² operations a row are most of it. The rates, in operations a second, are in ascending order.
func rates(d, workers int) ([]float64, error) {
	const m = 500
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
		found = append(found, m*m*float64(done)/time.Since(began).Seconds())
	}
	slices.Sort(found)
	return found, nil
}
