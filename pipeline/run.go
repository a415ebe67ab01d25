package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	LossWidth          float64    `json:"loss_width"`           // upper less lower empirical risk: what rounding and the accuracy cost
	Unproven           int64      `json:"unproven_rows"`        // train rows that are counted as a loss of 1
	Neighbours         Neighbours `json:"neighbouring_targets"` //
	Instructions       string     `json:"instruction_set"`      // of the linear algebra
	Notices            []string   `json:"notices"`              //
	SurveySeconds      float64    `json:"survey_seconds"`       //
	TrainSeconds       float64    `json:"train_seconds"`        // of this process; a resumed run counts from its resumption
	LastPassSeconds    float64    `json:"last_pass_seconds"`    // reading all rows again, their digest and risk
	CertificateSeconds float64    `json:"certificate_seconds"`  // KL and bound in high precision, storing both files
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
	env.Observer.progress(Progress{Phase: PhaseLastPass, Elapsed: Seconds(time.Since(began))})
	r := &Result{ModelDigest: digest, Training: fit.Training}
	if err := r.certify(ctx, job, s, attempt, env); err != nil {
		return nil, err
	}
	env.Observer.progress(Progress{Phase: PhasePublish, Elapsed: Seconds(time.Since(began))})
	if r.ID, err = env.Sink.PutCertificate(ctx, r.Certificate); err != nil {
		return nil, err
	}
	r.Facts.Notices = append([]string{}, s.Notices...)
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
	constant := s.constant(r.Model.Meta.Loss)
	src, err := env.Open(ctx, r.Model.Meta.featureNames())
	if err != nil {
		return err
	}
	found, err := examine(ctx, src, r.Model, job, constant, env.Resources)
	if err != nil {
		return err
	}
	if found.Digest != s.Digest || found.Targets != s.Targets {
		return fmt.Errorf("%w: the last pass read rows with digest %s, training had %s: "+
			"the source was changed meanwhile; run again on a source that stands still", ErrChanged, found.Digest, s.Digest)
	}
	if found.Constant != constant {
		return fmt.Errorf("%w: the best constant is %v, not %v", ErrChanged, found.Constant, constant)
	}
	configuration, err := job.canonical()
	if err != nil {
		return err
	}
	r.Facts = Facts{
		MeanRisk: found.Mean.Upper(), MeanSquaredError: found.Squared,
		LossWidth: found.Risk.Upper() - found.LowerRisk.Lower(), Unproven: found.Unproven,
		Neighbours: found.Neighbour, Instructions: model.InstructionSet(), LastPassSeconds: found.Passed.Seconds(),
	}
	word := certify.Declared{Software: env.Software, Attempt: attempt}
	if r.Certificate, err = derive(job, configuration, r.Model, r.ModelDigest, found, word); err != nil {
		return err
	}
	if r.Certificate.Dependence.Suspicious {
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

// errNumbers says that a model's stored numbers do not bear a certificate.
var errNumbers = errors.New("no certificate for these numbers")

// checkNumbers checks what the proofs take for granted about the model's stored numbers:
// the jitter condition (docs/proofs.md, 10).
func checkNumbers(m Model) (certify.JitterCheck, error) {
	check, limit, err := m.Posterior.JitterCheck()
	if err != nil {
		return certify.JitterCheck{}, fmt.Errorf("pipeline: %w: %w", errNumbers, err)
	}
	return certify.JitterCheck{Limit: limit, Holds: check <= limit}, nil
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
