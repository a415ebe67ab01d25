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

// ErrChanged says that rows or the bytes of the model have changed since training.
// Nothing is published.
var ErrChanged = errors.New("changed since training")

// Environment has the ports and settings of a run. Open, Sink, Log, Checkpoints and
// Software are required; every other field may be zero.
type Environment struct {
	// Open opens the source anew with these features (nil: the job's own), the column of
	// the mean and the target, as [Job.Open] does. It is called for training and again for
	// the last pass.
	Open        func(ctx context.Context, features []string) (Source, error)
	Sink        Sink
	Log         Logs
	Checkpoints Checkpoints
	Ancestor    *Ancestor  // of a job with warm starts: training begins with its posterior; nil: none
	Quarantine  Quarantine // of bad rows; nil: they are counted only
	FirstPass   Parts      // of [Fit] and [Run], where the job allows it; nil: they read all rows
	Resources   Resources
	Observer    Observer
	Software    string // names the program in the certificate

	hurried *int64 // steps before the time limit, of a repeated training; nil: the clock decides
}

// needs returns an error for each of these fields that is not set.
func (e Environment) needs(fields ...string) error {
	return unset(" of the environment", map[string]bool{
		"Open": e.Open == nil, "Sink": e.Sink == nil, "Log": e.Log == nil, "Checkpoints": e.Checkpoints == nil,
		"Software": e.Software == "",
	}, fields)
}

// unset returns an error for each of these fields that lacks its value.
func unset(of string, lacks map[string]bool, fields []string) error {
	var faults []error
	for _, field := range fields {
		if lacks[field] {
			faults = append(faults, fmt.Errorf("%w: %s%s is not set", ErrConfig, field, of))
		}
	}
	return errors.Join(faults...)
}

// A Result is what a finished run has published, and its diagnostics.
type Result struct {
	Certificate certify.Certificate
	ID          string // of the certificate
	ModelDigest string
	Model       Model
	Training    Training
	Diagnostics Diagnostics
	PlotRows    PlotRows
	Shards      []Digest // of the sample, in order, as the last pass read them
}

// Diagnostics are findings outside all theorems, for the run record.
type Diagnostics struct {
	Residuals          Residuals `json:"residuals"`
	Unproven           int64     `json:"unproven_rows"`   // train rows that are counted as a loss of 1
	Instructions       string    `json:"instruction_set"` // of the linear algebra
	Notices            []string  `json:"notices"`
	SurveySeconds      float64   `json:"survey_seconds"`
	TrainSeconds       float64   `json:"train_seconds"`       // of this process; a resumed run counts from its resumption
	LastPassSeconds    float64   `json:"last_pass_seconds"`   // reading all rows again, their digest and risk
	CertificateSeconds float64   `json:"certificate_seconds"` // KL and bound in high precision, storing both files
}

// Residuals are the errors of predictions on the [PlotRows], in raw units.
type Residuals struct {
	Rows   int     `json:"rows"`
	Fitted bool    `json:"fitted,omitempty"` // there are no reference rows: these are train rows
	RMSE   float64 `json:"rmse"`
	MAE    float64 `json:"mae"`
	R2     float64 `json:"r2"` // 0 if all their targets are equal
	// Column is the RMSE of the column of the mean alone, without Q's correction; 0: there is none.
	Column float64 `json:"column_rmse,omitempty"`
	// Known: the column may have been fitted on these rows, so that all errors may be too small.
	Known bool `json:"column_may_know,omitempty"`
}

// leastForR2 is the least number of rows whose R² is told.
const leastForR2 = 10

// String describes the errors in words.
func (f Residuals) String() string {
	on := "prior rows"
	if f.Fitted {
		on = "training rows, to which the model is fitted"
	}
	share := fmt.Sprintf("R² %.3f", f.R2)
	if f.Rows < leastForR2 {
		share = "too few rows for R²"
	}
	alone := ""
	if f.Column > 0 {
		alone = fmt.Sprintf("; the column of mean alone has RMSE %.4g", f.Column)
	}
	if f.Known {
		alone += " (it may have been fitted on them)"
	}
	return fmt.Sprintf("RMSE %.4g, MAE %.4g, %s on %d %s%s", f.RMSE, f.MAE, share, f.Rows, on, alone)
}

// residuals compares observed and predicted.
func (p PlotRows) residuals(fitted bool) Residuals {
	f := Residuals{Rows: len(p.Observed), Fitted: fitted}
	n := float64(f.Rows)
	var middle, squares, total float64
	for _, y := range p.Observed {
		middle += y / n
	}
	for i, y := range p.Observed {
		off := y - p.Mean[i]
		squares += off * off / n
		total += (y - middle) * (y - middle) / n
		f.MAE += math.Abs(off) / n
	}
	f.RMSE = math.Sqrt(squares)
	for i, c := range p.Column {
		off := p.Observed[i] - c
		f.Column += off * off / n
	}
	f.Column = math.Sqrt(f.Column)
	if total > 0x1p-80*middle*middle { // and not the rounding of the mean alone
		f.R2 = 1 - squares/total
	}
	return f
}

// PlotRows are the reference rows with the model's predictions, in raw units,
// for a plot.
type PlotRows struct {
	Observed, Mean, Deviation []float64
	Column                    []float64 // of the mean; nil: there is none
}

// Run trains, makes the last pass and publishes. The job must have its defaults
// filled in. All faults of job and environment are one error, before
// anything is read. A run that is killed and called again with the same arguments
// resumes from its last checkpoint and gives the same bytes. A result without an error
// is durable in the sink. Run leaves the checkpoint; the caller clears it.
func Run(ctx context.Context, job Job, env Environment) (*Result, error) {
	env.Resources = env.Resources.WithDefaults()
	b, err := begin(ctx, job, env)
	if err != nil {
		return nil, err
	}
	return run(ctx, job, b.src, b.survey, b.attempt, env, b.at)
}

// run is Run after the first pass and the record of the attempt.
func run(ctx context.Context, job Job, src Source, s *Survey, attempt certify.Attempt, env Environment, began time.Time) (*Result, error) {
	job.repeats = s.repeats
	h, err := fit(ctx, job, src, s, attempt, env, began)
	if err != nil {
		return nil, err
	}
	env.Observer.progress(Progress{Phase: PhaseLastPass, Elapsed: Seconds(time.Since(began))})
	read := time.Now()
	prepared, err := h.prepare(ctx, job, nil, env)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	pass, err := prepared.read(ctx, Whole.shards)
	if err != nil {
		return nil, err
	}
	took := time.Since(read)
	r, err := h.certify(ctx, job, pass, env, began)
	if err = errors.Join(err, pass.Close()); err != nil {
		return nil, err
	}
	r.Diagnostics.LastPassSeconds = took.Seconds()
	r.Diagnostics.CertificateSeconds = (time.Since(read) - took).Seconds()
	return r, nil
}

// fit trains, stores the model, and returns the handover to the last pass.
func fit(ctx context.Context, job Job, src Source, s *Survey, attempt certify.Attempt, env Environment, began time.Time) (*Handover, error) {
	job.repeats = s.repeats
	surveyed := time.Since(began)
	fit, err := train(ctx, src, s, job, env, began)
	if err != nil {
		return nil, err
	}
	configuration, err := job.canonical()
	if err != nil {
		return nil, err
	}
	h := &Handover{
		Format: HandoverFormat, Arithmetic: model.Arithmetic, Configuration: configuration, Sample: s.Digest.String(), Targets: s.Targets.String(),
		Segments: segmentsOf(src), Reference: s.reference.digest(s.Used), Constant: s.constant(fit.Model.Meta.Loss), Groups: s.groups, Attempt: attempt, Sequence: job.sequence, Repeats: s.repeats, Secret: newSecret().String(),
		Training: fit.Training, Notices: s.Notices, SurveySeconds: surveyed.Seconds(), TrainSeconds: (time.Since(began) - surveyed).Seconds(),
	}
	h.tell(job, s.Roles)
	if h.Model, err = env.Sink.PutModel(ctx, fit.Model); err != nil {
		return nil, err
	}
	h.Looks, err = job.reuse(s, h.Model, env)
	return h, err
}

// segmentsOf are the segments of a source's shards, nil unless all are segments.
func segmentsOf(src Source) []Segment {
	var all []Segment
	for _, shard := range src.Shards() {
		if shard.Segment == nil {
			return nil
		}
		all = append(all, *shard.Segment)
	}
	return all
}

// rowsOf is the number of rows of a source.
func rowsOf(src Source) int64 {
	var n int64
	for _, shard := range src.Shards() {
		n += shard.Rows
	}
	return n
}

// Inputs are the columns for a prediction: the features, and the column of the mean if there is one.
func (m ModelMeta) Inputs() []string {
	names := m.FeatureNames()
	if m.Mean != "" {
		names = append(names, m.Mean)
	}
	return names
}

// Dim is the number of inputs of the posterior: one a feature, or those of its encoding.
func (m ModelMeta) Dim() int { return len(m.Features) + m.Encode.more() }

// FeatureNames are the names of the features, in order.
func (m ModelMeta) FeatureNames() []string {
	names := make([]string, len(m.Features))
	for i, f := range m.Features {
		names[i] = f.Name
	}
	return names
}

// errNumbers says that no certificate is possible for a model's stored numbers.
var errNumbers = errors.New("no certificate for these numbers")

// checkNumbers checks the premise of the proofs about the model's stored numbers: the
// jitter condition (docs/proofs.md, 10).
func checkNumbers(m Model) (certify.JitterCheck, error) {
	check, limit, err := m.Posterior.JitterCheck()
	if err != nil {
		return certify.JitterCheck{}, fmt.Errorf("pipeline: %w: %w", errNumbers, err)
	}
	return certify.JitterCheck{Limit: limit, Holds: check <= limit}, nil
}

// plotRows predicts the rows of the baseline: reference rows, or start rows where there are none.
func plotRows(job Job, rows rawRows, m Model, workers int) (PlotRows, error) {
	s, err := newScorer(m, workers)
	if err != nil {
		return PlotRows{}, err
	}
	defer s.close()
	if job.Groups.beside(job) {
		s.scale = s.scale.past()
	}
	w := workspace{of: s}
	w.gatherScaled(s.scale.scaleRaw(rows))
	laws, err := w.predict()
	if err != nil {
		return PlotRows{}, err
	}
	o := PlotRows{Observed: rows.column(rows.columns - 1)}
	for i, mean := range laws.Mean {
		o.Mean = append(o.Mean, mean*s.scale.target.Scale+s.scale.centreOf(rows.row(i)))
		if m.Meta.Mean != "" {
			o.Column = append(o.Column, s.scale.centreOf(rows.row(i)))
		}
		o.Deviation = append(o.Deviation, math.Sqrt(max(0, laws.Variance[i]))*s.scale.target.Scale)
	}
	return o, nil
}
