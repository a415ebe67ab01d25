package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// A Method is a form of Q with its objective. It is no part of the guarantee: Q may be chosen in
// any way.
type Method string

// The methods. All but the first are those of Reeb et al. 2018, and the baselines of
// its tables.
const (
	MethodFreeForm    Method = ""             // any Gaussian at the inducing points, by the bound: the default
	MethodKLPACSGP    Method = "kl-PAC-SGP"   // the form of FITC, by the bound
	MethodSqrtPACSGP  Method = "sqrt-PAC-SGP" // the same by Pinsker's bound
	MethodKLPACGP     Method = "kl-PAC-GP"    // all rows are inducing points
	MethodSqrtPACGP   Method = "sqrt-PAC-GP"
	MethodFullGP      Method = "full-GP" // all rows are inducing points, by the evidence
	MethodVFE         Method = "VFE"     // by the variational bound of the evidence
	MethodDTC         Method = "DTC"     // by its evidence
	MethodFITC        Method = "FITC"    // by its evidence
	methodFreeFormYML        = "free-form"
)

// Methods lists the methods by the names that they have in job files.
func Methods() []string {
	return []string{
		methodFreeFormYML, string(MethodKLPACSGP), string(MethodSqrtPACSGP), string(MethodKLPACGP), string(MethodSqrtPACGP),
		string(MethodFullGP), string(MethodVFE), string(MethodDTC), string(MethodFITC),
	}
}

// NamedMethod returns the method of a name in a job file.
func NamedMethod(name string) Method {
	if name == methodFreeFormYML {
		return MethodFreeForm
	}
	return Method(name)
}

// The objectives of a free-form Q.
const (
	objectiveBound = "bound"
	objectiveELBO  = "elbo"
)

// Objectives lists the objectives of a free-form Q.
func Objectives() []string { return []string{objectiveBound, objectiveELBO} }

// elbo reports whether a free-form Q is chosen by the evidence lower bound.
func (j Job) elbo() bool {
	return j.Train.Objective == objectiveELBO
}

// exact reports whether all rows are inducing points.
func (m Method) exact() bool {
	return m == MethodKLPACGP || m == MethodSqrtPACGP || m == MethodFullGP
}

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
	Notice() string
	MarshalBinary() ([]byte, error)
	Result() (*model.Posterior, []int, error)
	Close()
}

// newTrainer returns the trainer of a candidate, from its state if there is one.
func (t *training) newTrainer(c candidate, state []byte) (trainer, error) {
	if t.job.Train.Method == MethodFreeForm {
		if state != nil {
			return model.ResumeTrainer(c.config, state)
		}
		if t.begins(c.config) {
			return model.NewTrainerFrom(c.config, t.warm, t.start)
		}
		return model.NewTrainer(c.config, t.start)
	}
	config := t.job.Train.collapsed(c.config)
	if state != nil {
		return model.ResumeCollapsed(config, state)
	}
	if rows := t.start.Len(); config.Exact && (rows > certify.MaxInducing || int64(rows) < config.N) {
		return nil, tooManyForExact(t.job.Train.Method, max(int64(rows), config.N))
	}
	return model.NewCollapsed(config, t.start)
}

func tooManyForExact(m Method, rows int64) error {
	return fmt.Errorf("%w: train.method: %s makes each of the %d rows an inducing point, and a certified model may have %d (hint: the sparse methods, such as kl-PAC-SGP, allow any number of rows)", ErrConfig, m, rows, certify.MaxInducing)
}

// collapsed translates a method that is not free-form.
func (t TrainDecl) collapsed(c model.Config) model.CollapsedConfig {
	config := model.CollapsedConfig{Config: c, Alpha: 1, Evaluations: t.evaluations(c.N), Exact: t.Method.exact()}
	if t.stochastic() {
		config.Batch = t.batch()
	}
	config.Plan = model.Plan{}
	if config.Inducing == 0 {
		config.Inducing = int(min(paperInducing, c.N))
	}
	switch t.Method {
	case MethodFreeForm: // has a trainer of its own
	case MethodKLPACSGP, MethodKLPACGP:
		config.Objective = model.BoundKL
	case MethodSqrtPACSGP, MethodSqrtPACGP:
		config.Objective = model.BoundPinsker
	case MethodFullGP, MethodFITC:
		config.Objective = model.Evidence
	case MethodVFE:
		config.Objective, config.Alpha = model.EvidenceBound, 0
	case MethodDTC:
		config.Objective, config.Alpha = model.Evidence, 0
	}
	return config
}

// stochastic reports whether a method of the paper makes its gradients of mini-batches.
func (t TrainDecl) stochastic() bool {
	return t.Mode == TrainMiniBatch && (t.Method == MethodKLPACSGP || t.Method == MethodSqrtPACSGP)
}

// batch is the number of rows of a mini-batch of a method of the paper.
func (t TrainDecl) batch() int { return cmp.Or(t.Batch, paperBatch) }

// checkMethod finds the faults of the method's keys.
func (t TrainDecl) checkMethod(inducing []int, fault func(string, ...any)) {
	if names := Methods(); t.Method != MethodFreeForm && !slices.Contains(names[1:], string(t.Method)) {
		fault("train.method: %q is none of %v", string(t.Method), names)
		return
	}
	if t.Method == MethodFreeForm {
		if t.Objective != "" && !slices.Contains(Objectives(), t.Objective) {
			fault("train.objective: %q is none of %v", t.Objective, Objectives())
		}
		return
	}
	if t.Objective != "" {
		fault("train.objective: it belongs to the method %s; %s has its own", methodFreeFormYML, t.Method)
	}
	if t.Method.exact() && len(inducing) > 0 {
		fault("inducing: %s makes each row an inducing point", t.Method)
	}
	if t.WarmStart {
		fault("train: a warm start belongs to the method %s", methodFreeFormYML)
	}
	if !t.stochastic() && (t.Batch != 0 || t.Buffer != 0 || t.Mode == TrainMiniBatch) {
		fault("train: mode mini-batch, batch and buffer belong to the methods %s, %s and %s; %s looks at all rows for each gradient", methodFreeFormYML, MethodKLPACSGP, MethodSqrtPACSGP, t.Method)
	}
}

// evaluations is the most gradients of a method of the paper on n rows.
func (t TrainDecl) evaluations(n int64) int {
	if t.Passes == 0 {
		return model.DefaultEvaluations
	}
	gradients := t.Passes
	if t.stochastic() {
		gradients *= float64(n) / float64(min(n, int64(t.batch())))
	}
	return int(max(1, math.Round(gradients)))
}

// planned completes a candidate of a method of the paper, with m inducing points (0: by its
// rule): each step is on all rows.
func (t TrainDecl) planned(c model.Config, m int) model.Config {
	switch {
	case t.Method.exact():
		c.Inducing = certify.MaxInducing
	case m == 0:
		c.Inducing = paperInducing
	}
	c.Plan = model.Plan{Joint: t.evaluations(c.N), Batch: int(c.N)}
	if t.stochastic() {
		c.Plan.Batch = int(min(int64(t.batch()), c.N))
	}
	return c
}

// work is the number of operations of training: see [work]. A gradient takes about 6 M² a row and 12 M³ for the
// square matrices; L-BFGS rarely converges before the twentieth.
func (t TrainDecl) work(c model.Config, grown bool, workers int) float64 {
	if t.Method == MethodFreeForm {
		return work(c, grown, workers)
	}
	m, steps := float64(c.Inducing), float64(c.Plan.Joint)
	if !t.stochastic() { // which makes all steps
		steps = math.Sqrt(min(20, steps) * steps)
	}
	return steps * (6*float64(c.Plan.Batch) + 12*m) * m * m
}

const (
	// paperInducing is the number of inducing points of the paper's sparse processes.
	paperInducing = 500
	// paperBatch is the number of rows of a mini-batch, unless a job has another.
	paperBatch = 4096
)
