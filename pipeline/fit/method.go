package fit

import (
	"cmp"
	"math"

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
