package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
)

// A Method is a form of Q and the objective that chooses it. The guarantee holds for any choice of Q.
type Method string

// The methods. All but the first are those of Reeb et al. 2018, and the baselines of its tables.
const (
	MethodFreeForm    Method = ""             // any Gaussian at the inducing points, by the bound or another of [Objectives]; the default
	MethodKLPACSGP    Method = "kl-PAC-SGP"   // Q in the form of FITC, by the bound
	MethodSqrtPACSGP  Method = "sqrt-PAC-SGP" // the same form, by Pinsker's bound
	MethodKLPACGP     Method = "kl-PAC-GP"    // all rows are inducing points, by the bound
	MethodSqrtPACGP   Method = "sqrt-PAC-GP"  // the same, by Pinsker's bound
	MethodFullGP      Method = "full-GP"      // all rows are inducing points, by the evidence
	MethodVFE         Method = "VFE"          // by the variational bound of the evidence
	MethodDTC         Method = "DTC"          // by its evidence
	MethodFITC        Method = "FITC"         // by its evidence
	methodFreeFormYML        = "free-form"
)

// Methods returns the names of the methods in job files.
func Methods() []string {
	return []string{
		methodFreeFormYML, string(MethodKLPACSGP), string(MethodSqrtPACSGP), string(MethodKLPACGP), string(MethodSqrtPACGP),
		string(MethodFullGP), string(MethodVFE), string(MethodDTC), string(MethodFITC),
	}
}

// NamedMethod returns the method with this name in job files. It does not check the name.
func NamedMethod(name string) Method {
	if name == methodFreeFormYML {
		return MethodFreeForm
	}
	return Method(name)
}

// objectiveELBO is the evidence lower bound.
const objectiveELBO = "elbo"

// Objectives returns the objectives of a free-form Q.
func Objectives() []string { return []string{"bound", objectiveELBO} }

// Elbo reports whether a free-form Q is chosen by the evidence lower bound.
func (j Job) Elbo() bool { return j.Train.Objective == objectiveELBO }

// Exact reports whether all rows are inducing points.
func (m Method) Exact() bool {
	return m == MethodKLPACGP || m == MethodSqrtPACGP || m == MethodFullGP
}

// TooManyForExact returns the error of an exact method for more rows than a model may have inducing points.
func TooManyForExact(m Method, rows int64) error {
	return fmt.Errorf("%w: train.method: %s makes each of the %d rows an inducing point, and a certified model may have %d (hint: the sparse methods, such as kl-PAC-SGP, allow any number of rows)", ErrConfig, m, rows, certify.MaxInducing)
}

// Stochastic reports whether a method of the paper computes its gradients from mini-batches.
func (t TrainDecl) Stochastic() bool {
	return t.Mode == TrainMiniBatch && (t.Method == MethodKLPACSGP || t.Method == MethodSqrtPACSGP)
}

// BatchRows returns the number of rows of a mini-batch of a method of the paper.
func (t TrainDecl) BatchRows() int { return cmp.Or(t.Batch, paperBatch) }

// checkMethod adds faults of the keys that depend on the method.
func (t TrainDecl) checkMethod(inducing []int, faults *faultList) {
	if names := Methods(); t.Method != MethodFreeForm && !slices.Contains(names[1:], string(t.Method)) {
		faults.add("train.method: %q is none of %s", string(t.Method), strings.Join(names, ", "))
		return
	}
	if t.Method == MethodFreeForm {
		faults.when(t.Objective != "" && !slices.Contains(Objectives(), t.Objective),
			"train.objective: %q is none of %s", t.Objective, strings.Join(Objectives(), ", "))
		return
	}
	faults.when(t.Objective != "",
		"train.objective: it belongs to the method %s; %s has its own", methodFreeFormYML, t.Method)
	faults.when(t.Method.Exact() && len(inducing) > 0, "inducing: %s makes each row an inducing point", t.Method)
	faults.when(t.WarmStart, "train: a warm start belongs to the method %s", methodFreeFormYML)
	faults.when(!t.Stochastic() && (t.Batch != 0 || t.Buffer != 0 || t.Mode == TrainMiniBatch),
		"train: mode mini-batch, batch and buffer belong to the methods %s, %s and %s; %s uses all rows for each gradient", methodFreeFormYML, MethodKLPACSGP, MethodSqrtPACSGP, t.Method)
}

const (
	// PaperInducing is the default number of inducing points of the paper's sparse methods.
	PaperInducing = 500
	// paperBatch is the default number of rows of a mini-batch of the paper's methods.
	paperBatch = 4096
)

// holdoutFromRows is the number of rows from which some are held out by default. With fewer, a
// held-out bound is not worth the training rows that it costs.
const holdoutFromRows = 300

// holdoutShare returns the default share of n rows to hold out. With up to a few thousand rows a held-out bound is
// lowest at about a quarter of them; with more, the rows help training more (docs/howto/tolerance.md).
func holdoutShare(n int64) float64 {
	switch {
	case n < 1000:
		return 0.3
	case n < 5000:
		return 0.2
	default:
		return 0.1
	}
}

// both returns PAC-Bayes and a method for held-out rows: the default of a job with held-out rows.
func both(id certify.MethodID) []certify.MethodID {
	return []certify.MethodID{certify.MethodPACBayes, id}
}

// withMethods completes the methods and the share of the held-out rows, as far as they do
// not depend on the number of rows.
func (j Job) withMethods(faults *faultList) Job {
	if j.Mean.Given() && j.Split.Outside == 0 { // the column may have been fitted on training rows
		j = j.withInside(faults)
	}
	j = j.withGroups(faults)
	if len(j.Guarantees) == 0 {
		if j.Split.Holdout == 0 && !j.Loss.any() {
			j.Guarantees = nil
			return j
		}
		j.Guarantees = both(j.Loss.heldOut())
	}
	faults.of("guarantees", certify.ValidMethods(j.Guarantees))
	switch curve := (certify.Delta{Methods: j.Guarantees}).Applies(certify.MethodCurve); {
	case curve && j.Loss.Kind != certify.LossZeroOne:
		faults.add("guarantees: %s is about errors beyond a tolerance, and goes with loss.kind %s", certify.MethodCurve, certify.LossZeroOne)
	case !curve && j.Loss.any():
		faults.add("loss.tolerance: %s needs the method %s among guarantees", certify.AnyTolerance, certify.MethodCurve)
	}
	share := j.Split.Holdout
	switch holdout := (certify.Delta{Methods: j.Guarantees}).Uses(certify.SubsetHoldout); {
	case holdout && !(0 <= share && share <= 0.9):
		faults.add("split.holdout: %v is no share of the rows above 0 and at most 0.9", share)
	case !holdout && share != 0:
		faults.add("split.holdout: held-out rows are for the methods %s and %s, of which guarantees names none", certify.MethodHoldout, certify.MethodCurve)
	}
	return j
}

// ForRows returns the job with the defaults that depend on the number of rows n: methods, share of held-out rows and
// step of the grid. With 300 rows or more the methods are PAC-Bayes and held-out rows, with fewer PAC-Bayes alone.
// With 30,000 rows or more the step is 0.05, with fewer 0.25. The job's digest does not change.
func (j Job) ForRows(n int64) Job {
	enough, share := n >= holdoutFromRows, holdoutShare(n)
	if j.declaration == nil {
		j.declaration = new(j)
	}
	if j.Unit.Given() {
		n, enough, share = 0, true, unitHoldout // a count of rows would depend on the training units, so that the prior would, too
	}
	if j.Grid.Step == 0 {
		if j.Grid.Step = fineStep; n < fineFromRows {
			j.Grid.Step = coarseStep
		}
	}
	if len(j.Guarantees) == 0 {
		if j.Guarantees = both(certify.MethodHoldout); !enough {
			j.Guarantees = j.Guarantees[:1]
		}
	}
	if j.Split.Holdout == 0 && j.Spends().Uses(certify.SubsetHoldout) {
		j.Split.Holdout = share
	}
	return j
}
