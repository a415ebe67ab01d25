package fit

import (
	"math"

	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

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
