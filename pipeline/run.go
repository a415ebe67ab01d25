package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// ErrChanged says that rows or model bytes are not what they were when the
// model was trained. Nothing is published.
var ErrChanged = errors.New("changed since training")

// Environment is what a run works with.
type Environment struct {
	// Open opens the source anew with these features (nil: those that the
	// job declares) and the job's target. It is called for training and
	// again for the last pass.
	Open        func(ctx context.Context, features []string) (Source, error)
	Sink        Sink
	Attempts    Attempts
	Checkpoints Checkpoints
	Resources   Resources
	Observer    Observer
	Software    string // names the program in the certificate
}

// A Result is what a finished run published, and how it went.
type Result struct {
	Certificate certify.Certificate
	ID          string // of the certificate
	ModelDigest string
	Model       Model
	Training    Training
	Facts       Facts
	Outlines    Outlines
}

// Facts are findings of the last pass that no theorem covers. They stand in
// the run record.
type Facts struct {
	MeanRisk           float64    `json:"mean_empirical_risk"`  // loss of the mean of Q on the train rows
	MeanSquaredError   float64    `json:"mean_squared_error"`   // of the mean of Q on the train rows, raw units
	AuditError         float64    `json:"audit_error"`          // fast against slow expected loss
	Neighbours         Neighbours `json:"neighbouring_targets"` //
	Instructions       string     `json:"instruction_set"`      // of the linear algebra
	Notices            []string   `json:"notices,omitempty"`    //
	SurveySeconds      float64    `json:"survey_seconds"`       //
	TrainSeconds       float64    `json:"train_seconds"`        // of this process; a resumed run counts from its resumption
	LastPassSeconds    float64    `json:"last_pass_seconds"`    // reading all rows again, their digest and risk
	CertificateSeconds float64    `json:"certificate_seconds"`  // audit, KL and bound in high precision, storing both files
}

// Outlines are the reference rows with the model's predictions, in raw units,
// for a plot.
type Outlines struct {
	Observed, Mean, Deviation []float64
}

// Run trains, makes the last pass and publishes. The job must have its defaults
// filled in, and no sweep. Killed at any moment and called again with the same
// arguments it goes on from its last checkpoint and gives the same bytes. What
// it returns without an error is durable in the sink. The checkpoint stays until
// the caller has dealt with the result and clears it.
func Run(ctx context.Context, job Job, env Environment) (*Result, error) {
	if len(job.Sweep) > 0 {
		return nil, fmt.Errorf("%w: sweep: it has more than one result", ErrConfig)
	}
	var found *Result
	err := Sweep(ctx, job, func(Job) (Environment, error) { return env, nil }, func(_ Job, r *Result) error {
		found = r
		return nil
	})
	return found, err
}

// run is Run after the first pass and the count of the attempt.
func run(ctx context.Context, job Job, src Source, s *Survey, attempt certify.Attempt, env Environment, began time.Time) (*Result, error) {
	surveyed := time.Since(began)
	fit, err := train(ctx, src, s, job, env, began)
	if err != nil {
		return nil, err
	}
	trained := time.Since(began)
	digest, err := env.Sink.PutModel(ctx, fit.Model)
	if err != nil {
		return nil, err
	}
	env.Observer.progress(Progress{Phase: PhaseLastPass, Elapsed: time.Since(began)})
	r := &Result{ModelDigest: digest, Training: fit.Training}
	if err := r.certify(ctx, job, s, attempt, env); err != nil {
		return nil, err
	}
	env.Observer.progress(Progress{Phase: PhasePublish, Elapsed: time.Since(began)})
	if r.ID, err = env.Sink.PutCertificate(ctx, r.Certificate); err != nil {
		return nil, err
	}
	r.Facts.Notices = s.Notices
	r.Facts.SurveySeconds = surveyed.Seconds()
	r.Facts.TrainSeconds = (trained - surveyed).Seconds()
	r.Facts.CertificateSeconds = (time.Since(began) - trained).Seconds() - r.Facts.LastPassSeconds
	r.Outlines, err = outlines(s, r.Model, env.Resources.Workers)
	return r, err
}

// certify makes the last pass. It gets from training nothing but a digest of
// model bytes and the survey's findings to compare with: the source is opened
// again and the model is read back.
func (r *Result) certify(ctx context.Context, job Job, s *Survey, attempt certify.Attempt, env Environment) error {
	var err error
	if r.Model, err = env.Sink.GetModel(ctx, r.ModelDigest); err != nil {
		return err
	}
	constant := s.Target.Centre
	if s.Roles.Reference() > 0 {
		constant = bestConstant(s.reference.column(s.Used[len(s.Features)]), r.Model.Meta.Loss)
	}
	src, err := env.Open(ctx, r.Model.Meta.featureNames())
	if err != nil {
		return err
	}
	roles := NewRoles(job.Roles.Key, rowsOf(src), job.Scaling.Mode == ScalingDeclared, env.Resources.Workers)
	found, err := examine(ctx, src, r.Model, roles, constant, env.Resources.Workers)
	if err != nil {
		return err
	}
	if found.Digest != s.Digest || found.Targets != s.Targets {
		return fmt.Errorf("%w: the last pass read rows with digest %s, training had %s: "+
			"the source was changed meanwhile; run again on a source that stands still", ErrChanged, found.Digest, s.Digest)
	}
	if err := found.checkScaling(job, r.Model.Meta, constant); err != nil {
		return err
	}
	jitter, err := checkNumbers(r.Model, found)
	if err != nil {
		return err
	}
	configuration, err := job.canonical()
	if err != nil {
		return err
	}
	r.Facts = Facts{
		MeanRisk: found.Mean.Upper(), MeanSquaredError: found.Squared, AuditError: found.AuditError,
		Neighbours: found.Neighbour, Instructions: model.InstructionSet(), LastPassSeconds: found.Passed.Seconds(),
	}
	evidence, err := r.evidence(job, found, jitter, configuration)
	if err != nil {
		return err
	}
	evidence.Software, evidence.Attempt = env.Software, attempt
	if r.Certificate, err = certify.Certify(evidence); err != nil {
		return err
	}
	if found.Neighbour.Suspicious() {
		env.Observer.notice(fmt.Sprintf("neighbouring rows are alike (correlation of their targets %.3f, more than chance brings about once in 10,000 times): unless the rows were sorted, they depend on each other, and the bound may be too low", found.Neighbour.Correlation))
	}
	return nil
}

// rowsOf is the number of rows of a source.
func rowsOf(src Source) int64 {
	var n int64
	for _, shard := range src.Shards() {
		n += shard.Rows
	}
	return n
}

func (m ModelMeta) featureNames() []string {
	names := make([]string, len(m.Features))
	for i, f := range m.Features {
		names[i] = f.Name
	}
	return names
}

// checkScaling demands that a model's scaling, and the baseline's constant, are
// what the reference rows of this pass give, bit for bit. Without reference rows
// the constant is the declared centre of the target.
func (e *examination) checkScaling(job Job, meta ModelMeta, constant float64) error {
	columns := append(slices.Clone(meta.Features), meta.Target)
	switch job.Scaling.Mode {
	case ScalingDeclared:
		if constant != meta.Target.Centre {
			return fmt.Errorf("%w: the baseline's constant is %v, not the declared centre %v of the target", ErrChanged, constant, meta.Target.Centre)
		}
		return nil
	case ScalingAllRows: // a broken assumption: there is nothing to hold it to
		columns = nil
	case ScalingReference:
	default:
		return fmt.Errorf("pipeline: scaling mode %q is unknown", job.Scaling.Mode)
	}
	if len(e.Reference) < len(columns) {
		return fmt.Errorf("%w: %d rows have no reference rows", ErrData, e.Rows)
	}
	for i, a := range columns {
		if got := e.Reference[i]; got.Centre != a.Centre || got.Scale != a.Scale {
			return fmt.Errorf("%w: the reference rows give column %q centre %v and scale %v, the model has %v and %v",
				ErrChanged, a.Name, got.Centre, got.Scale, a.Centre, a.Scale)
		}
	}
	if e.Constant != constant {
		return fmt.Errorf("%w: the best constant on the reference rows is %v, not %v", ErrChanged, e.Constant, constant)
	}
	return nil
}

// errNumbers says that a model's stored numbers do not bear a certificate.
var errNumbers = errors.New("no certificate for these numbers")

// checkNumbers checks what the bound takes for granted about the model's stored
// numbers: the jitter condition of theory.md §2.1, lengthscales and variance on
// the grid, and that the slack covers the arithmetic.
func checkNumbers(m Model, found *examination) (certify.JitterCheck, error) {
	check, limit, err := m.Posterior.JitterCheck()
	if err != nil {
		return certify.JitterCheck{}, fmt.Errorf("pipeline: %w: %w", errNumbers, err)
	}
	// A tenth of the slack: the rest is for what a few rows do not show.
	if !(found.AuditError <= certify.Slack/10) {
		return certify.JitterCheck{}, fmt.Errorf("pipeline: %w: computed in high precision, a row's expected loss differs by %g, more than a tenth of the slack %g",
			errNumbers, found.AuditError, certify.Slack)
	}
	return certify.JitterCheck{Bound: check, Limit: limit}, checkTheta(m)
}

// checkTheta demands that the numbers predictions are made with are those of
// the declared grid values, up to the rounding of exp, in both parts of a model.
func checkTheta(m Model) error {
	meta, k := m.Meta, m.Posterior.Kernel
	if !slices.Equal(meta.Lengthscales, k.Lengthscales) || meta.Variance != k.Variance ||
		meta.Jitter != m.Posterior.Jitter || meta.Inducing != m.Posterior.Inducing() {
		return fmt.Errorf("pipeline: %w: the model's description and its posterior differ in lengthscales, variance, jitter or number of inducing points", errNumbers)
	}
	want := len(meta.Features) + 1
	if !meta.ARD {
		want = 2
	}
	if len(meta.Theta) != want || len(meta.Lengthscales) != len(meta.Features) {
		return fmt.Errorf("pipeline: %w: %d hyper-parameters and %d lengthscales for %d features",
			errNumbers, len(meta.Theta), len(meta.Lengthscales), len(meta.Features))
	}
	off := func(value float64, p certify.Parameter) bool {
		return !(math.Abs(math.Log(value)-p.Value()) <= 1e-12*max(1, math.Abs(p.Value())))
	}
	for i, l := range meta.Lengthscales {
		p := meta.Theta[0]
		if meta.ARD {
			p = meta.Theta[i]
		}
		if off(l, p) {
			return fmt.Errorf("pipeline: %w: lengthscale %v of %q is not the grid's exp(%v)", errNumbers, l, meta.Features[i].Name, p.Value())
		}
	}
	if p := meta.Theta[want-1]; off(meta.Variance, p) {
		return fmt.Errorf("pipeline: %w: variance %v is not the grid's exp(%v)", errNumbers, meta.Variance, p.Value())
	}
	return nil
}

// outlines predicts the reference rows, or where there are none the rows that
// start values came from.
func outlines(s *Survey, m Model, workers int) (Outlines, error) {
	rows := s.reference
	if rows.n == 0 {
		rows = s.start
	}
	x, y := s.scaler().scaleRaw(rows)
	predictor, err := model.NewPredictor(m.Posterior, workers)
	if err != nil {
		return Outlines{}, err
	}
	defer predictor.Close()
	mean, variance := make([]float64, rows.n), make([]float64, rows.n)
	if err := predictor.Predict(x, mean, variance); err != nil {
		return Outlines{}, err
	}
	t := m.Meta.Target
	for i := range y {
		y[i] = y[i]*t.Scale + t.Centre
		mean[i] = mean[i]*t.Scale + t.Centre
		variance[i] = math.Sqrt(max(0, variance[i])) * t.Scale
	}
	return Outlines{Observed: y, Mean: mean, Deviation: variance}, nil
}
