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

// A Sample has the facts about the rows of a job that are known before any is read.
type Sample struct {
	Rows     int64
	Bad      int64 // those known to be left out
	Features int

	Units *certify.UnitCounts // of a job by units, from [pass.CountUnits]
}

// Train is the number of training rows.
func (s Sample) Train(job job.Job) int64 {
	return s.Rows - s.Bad - job.References(s.Rows) - s.Apart(job.Split.Holdout) - s.Apart(job.Split.Outside)
}

// Apart is the approximate number of rows of a share that is set apart by hash.
func (s Sample) Apart(share float64) int64 {
	return int64(share * float64(s.Rows))
}

// Duration is the usual time of training and last pass in seconds, without reading, and the number of inducing
// points of the largest candidate. The last pass scores this number of rows. It measures the machine for about
// a tenth of a second.
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

// sizes are the numbers of inducing points of the candidates; 0: the trainer's rule in N.
func sizes(j job.Job) []int {
	if len(j.Inducing) == 0 {
		return []int{0}
	}
	return j.Inducing
}

// planOf translates the training declaration for n rows to fit, of d features and
// a candidate of m inducing points (0: the trainer's rule).
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

// The costs that the terms in M² a row and M³ leave out: of a row, for its loss and for each inducing
// point; of a step, for each element of a square matrix. The unit is an operation of the last pass
// with many inducing points, which takes M² a row. They were measured on one processor, with 30 to
// 1,000 inducing points, 4 to 26 features and 100 to 20,000 rows.
const (
	rowCost, pointCost, elementCost = 14_000, 200, 1200
)

// rowWork is the cost of the mean, the variance and the loss of rows with m inducing points.
func rowWork(m int, rows float64) float64 {
	return rows * (float64(m)*float64(m) + pointCost*float64(m) + rowCost)
}

// work is the number of operations of training, start values included, to all planned steps but of the last
// phases, which converge before. Where M is grown, start values try each doubling. A step takes about 3 M² a row
// and 7 M³ for the square matrices, without the gradient of θ and Z 1 M² and 6 M³.
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

// rate measures the speed of the last pass, in operations a second, with so many inducing points that M² a row
// are most of it. It is the fastest of a few readings: the others have shared the processors.
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
