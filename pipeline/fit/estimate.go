package fit

import (
	"fmt"
	"math"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Sample holds facts about the rows of a job that are known before rows are read.
type Sample struct {
	Rows     int64
	Bad      int64 // number of rows that are known to be left out
	Features int

	Units *certify.UnitCounts // of a job by units, from [pass.CountUnits]
}

// Train returns the approximate number of training rows.
func (s Sample) Train(job job.Job) int64 {
	return s.Rows - s.Bad - s.Apart(float64(job.PriorRows(s.Rows))/float64(max(1, s.Rows))) - s.Apart(job.Split.Holdout) - s.Apart(job.Split.Outside)
}

// Apart returns the approximate number of rows in a share that is selected by hash.
func (s Sample) Apart(share float64) int64 {
	return int64(share * float64(s.Rows-s.Bad))
}

// Duration returns the number of inducing points of the largest candidate, and the usual time of training and last pass in
// seconds, without reading. scored is the number of rows that the last pass scores. Duration measures the speed of the
// machine, for about 0.1 seconds.
func (s Sample) Duration(j job.Job, scored int64, workers int) (inducing int, seconds float64, err error) {
	n, d := s.Train(j), s.Features+j.Encode.More()
	var all float64
	for _, name := range j.Kernel.Family {
		family, err := kernel.Named(name)
		if err != nil {
			continue // WithDefaults refuses it
		}
		for _, m := range sizes(j) {
			c := model.Config{N: n, Dim: d, Kernel: family, Inducing: m, ELBO: j.Elbo(), Plan: planOf(j, n, d, m)}.Scheduled()
			if j.Train.Method != job.MethodFreeForm {
				c = planned(j.Train, c, m)
			}
			c.Inducing = int(min(int64(c.Inducing), s.Rows)) // there are no more different points
			inducing = max(inducing, c.Inducing)
			all += workOf(j.Train, c, len(j.Inducing) == 0, workers) + rowWork(c.Inducing, float64(scored))
		}
	}
	measured, err := rate(d, workers)
	if seconds = all / measured; j.Train.Time > 0 {
		seconds = min(seconds, time.Duration(j.Train.Time).Seconds()+rowWork(inducing, float64(scored))/measured)
	}
	return inducing, seconds, err
}

// sizes returns the numbers of inducing points of the candidates. 0 means by the trainer's rule in N.
func sizes(j job.Job) []int {
	if len(j.Inducing) == 0 {
		return []int{0}
	}
	return j.Inducing
}

// planOf returns the plan of training on n rows with d features, for a candidate with m inducing points, where 0 means by
// the trainer's rule.
func planOf(j job.Job, n int64, d, m int) model.Plan {
	p := model.Plan{Batch: j.Train.Batch}
	if j.Train.Mode == job.TrainFullPass {
		p.Batch, p.SettleBatch = int(n), int(n)
	}
	if j.Train.Passes > 0 {
		batch := model.Config{N: n, Dim: d, Inducing: m, ELBO: j.Elbo(), Plan: p}.Scheduled().Plan.Batch
		p.Joint = max(1, int(math.Round(j.Train.Passes*float64(n)/float64(batch))))
	}
	return p
}

// Costs in addition to the terms M² for each row and M³: of a row, for its loss; of each inducing point of a row; and of a
// step, for each element of a square matrix. The unit is an operation of the last pass with many inducing points, which
// takes M² operations for each row. The costs were measured on one processor, with 30 to 1,000 inducing points, 4 to 26
// features and 100 to 20,000 rows.
const (
	rowCost, pointCost, elementCost = 14_000, 200, 1200
)

// rowWork returns the cost of computing mean, variance and loss of rows with m inducing points.
func rowWork(m int, rows float64) float64 {
	return rows * (float64(m)*float64(m) + pointCost*float64(m) + rowCost)
}

// work returns the number of operations of training, with start values and all planned steps, except that the last phases
// converge earlier. If M is grown, start values try each doubling. A step takes about 3 M² operations for each row and 7 M³
// for the square matrices, or without the gradient of θ and Z about M² and 6 M³.
func work(c model.Config, grown bool, workers int) float64 {
	step := func(m, batch int, gradient float64) float64 {
		square := float64(m) * float64(m)
		squares := 2*gradient*float64(batch) + (6+gradient)*float64(m) + elementCost*float64(workers)*gradient
		return rowWork(m, float64(batch)) + squares*square
	}
	const noises, scored, rounds, usual = 3, 4096, 8, 12
	rows := int(min(c.N, dataset.StartRows))
	tried := []int{c.Inducing}
	if grown {
		tried = model.Doublings(c.Inducing)
	}
	const estimates = 50
	first := float64(min(rows, c.Plan.EstimateRows))
	all := estimates * (1.5*first + pointCost) * first * first // of the hyper-parameters
	for _, m := range tried {
		all += float64(rows*(rounds*m*pointCost+rowCost)) + rowWork(m, float64(rows)) + noises*step(m, min(rows, scored), 0)
	}
	return all + float64(c.Plan.Joint)*step(c.Inducing, c.Plan.Batch, 1) + float64(min(c.Plan.Settle, usual))*step(c.Inducing, c.Plan.SettleBatch, 0)
}

// rate measures the speed of the last pass, in operations per second, with enough inducing points for M² to be most of the
// work for a row. It returns the fastest of a few measurements, because other processes slow some of them down.
func rate(d, workers int) (float64, error) {
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
		return 0, fmt.Errorf("estimate: %w", err)
	}
	defer predictor.Close()
	const rows, repetitions, each = 2048, 3, 40 * time.Millisecond
	x, mean, variance := make([]float64, rows*d), make([]float64, rows), make([]float64, rows)
	found := 0.0
	for range repetitions {
		done := 0
		began := time.Now()
		for done == 0 || time.Since(began) < each {
			if err := predictor.Predict(x, mean, variance); err != nil {
				return 0, fmt.Errorf("estimate: %w", err)
			}
			done += rows
		}
		found = max(found, m*m*float64(done)/time.Since(began).Seconds())
	}
	return found, nil
}
