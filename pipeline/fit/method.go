package fit

import (
	"cmp"
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A trainer fits a posterior: model.Trainer or model.Collapsed.
type trainer interface {
	Done() bool
	Want() model.Pass
	Begin() error
	Add(x, y []float64) error
	End() error
	Settle()
	Progress() model.Progress
	Inducing() int
	Warning() string
	MarshalBinary() ([]byte, error)
	Result() (*model.Posterior, []int, error)
	Close()
}

// collapsed returns the configuration of a trainer for a method that is not free-form.
func collapsed(t job.TrainDecl, c model.Config) model.CollapsedConfig {
	config := model.CollapsedConfig{Config: c, Alpha: 1, Evaluations: evaluations(t, c.N), Exact: t.Method.Exact()}
	if t.Stochastic() {
		config.Batch = t.BatchRows()
	}
	config.Plan = model.Plan{}
	config.Inducing = cmp.Or(config.Inducing, int(min(job.PaperInducing, c.N)))
	switch t.Method {
	case job.MethodFreeForm: // has a trainer of its own
	case job.MethodKLPACSGP, job.MethodKLPACGP:
		config.Objective = model.BoundKL
	case job.MethodSqrtPACSGP, job.MethodSqrtPACGP:
		config.Objective = model.BoundPinsker
	case job.MethodFullGP, job.MethodFITC:
		config.Objective = model.Evidence
	case job.MethodVFE:
		config.Objective, config.Alpha = model.EvidenceBound, 0
	case job.MethodDTC:
		config.Objective, config.Alpha = model.Evidence, 0
	}
	return config
}

// evaluations returns the largest number of gradients of a method of the paper on n rows.
func evaluations(t job.TrainDecl, n int64) int {
	if t.Passes == 0 {
		return model.DefaultEvaluations
	}
	gradients := t.Passes
	if t.Stochastic() {
		gradients *= float64(n) / float64(min(n, int64(t.BatchRows())))
	}
	return int(max(1, math.Round(gradients)))
}

// planned completes a candidate of a method of the paper with m inducing points, where 0 means by the method's rule.
func planned(t job.TrainDecl, c model.Config, m int) model.Config {
	switch {
	case t.Method.Exact():
		c.Inducing = certify.MaxInducing
	case m == 0:
		c.Inducing = job.PaperInducing
	}
	c.Plan = model.Plan{Joint: evaluations(t, c.N), Batch: int(c.N)}
	if t.Stochastic() {
		c.Plan.Batch = int(min(int64(t.BatchRows()), c.N))
	}
	return c
}

// workOf returns the number of operations of training, as work does. In a method of the paper a gradient takes about 6 M²
// operations for each row and 12 M³ for the square matrices, and L-BFGS rarely converges before the twentieth gradient.
func workOf(t job.TrainDecl, c model.Config, grown bool, workers int) float64 {
	if t.Method == job.MethodFreeForm {
		return work(c, grown, workers)
	}
	m, steps := float64(c.Inducing), float64(c.Plan.Joint)
	if !t.Stochastic() { // which makes all steps
		steps = math.Sqrt(min(20, steps) * steps)
	}
	return steps * (6*float64(c.Plan.Batch) + 12*m) * m * m
}
