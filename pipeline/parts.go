package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// Certify publishes the certificate that follows from a pass over all rows, whole or merged from parts. It uses Sink,
// Resources, Observer and Software of env. If the pass lacks rows or belongs to another training state, the error wraps
// [pass.ErrPart].
func Certify(ctx context.Context, h *pass.TrainingState, all *pass.Pass, env fit.Environment) (*Result, error) {
	return certifyPass(ctx, h, all, env, time.Now())
}

// certifyPass is [Certify] in a run that began at began.
func certifyPass(ctx context.Context, h *pass.TrainingState, all *pass.Pass, env fit.Environment, began time.Time) (*Result, error) {
	j, err := h.Job()
	if err := errors.Join(err, job.Needs("Sink of the environment", env.Sink != nil), job.Needs("Software of the environment", env.Software != "", certify.Name("software", env.Software))); err != nil {
		return nil, err
	}
	if h.First() {
		return nil, pass.ErrUntrained
	}
	env.Resources = env.Resources.WithDefaults()
	if err := h.Owns(ctx, j, all, env.Resources); err != nil {
		return nil, err
	}
	j.Reuse = h.Reuse
	m, err := env.Sink.GetModel(ctx, h.Model)
	if err != nil {
		return nil, err
	}
	found, err := h.Result(ctx, j, m, all)
	if err != nil {
		return nil, err
	}
	r := &Result{ArtifactRef: ArtifactRef{Model: h.Model}, Model: m, Training: h.Training, shards: all.ShardDigests(nil)}
	r.diagnostics = diagnostics{
		Unproven: found.LossSums.Of(certify.PredictorDraw, certify.SubsetTraining).Unproven, Instructions: model.InstructionSet(),
		Warnings: append([]string{}, h.Warnings...), FirstPassSeconds: h.FirstPassSeconds, TrainSeconds: h.TrainSeconds,
	}
	word := certify.Declared{Software: env.Software, Attempt: h.Attempt, Training: h.Training.Training}
	if r.Certificate, err = pass.Certify(j, h.Configuration, m, h.Model, found, word); err != nil {
		return nil, err
	}
	if r.Certificate.Warned(certify.WarnDependence) && !j.Unit.Given() {
		latest := words.If(!j.Split.Last, "; if rows come in time order, split.holdout: {last: 10 %} holds out the latest")
		env.Observer.ReportWarning("neighbouring rows are more alike than chance explains (less than 1 in 1,000), and the bound may be too low: if the file is merely sorted, ignore this" + latest + "; if days or stations group them, name them in unit")
	}
	env.Observer.ReportProgress(job.Progress{Phase: job.PhasePublish, Elapsed: job.Seconds(time.Since(began))})
	if r.ID, err = env.Sink.PutCertificate(ctx, r.Certificate); err != nil {
		return nil, err
	}
	r.PlotRows, err = plotRows(found.Kept, m, env.Resources.Workers)
	unlikely, fault := unlike(r.Certificate, m, found.Kept, env.Resources.Workers)
	for _, text := range unlikely {
		env.Observer.ReportWarning(text)
	}
	r.diagnostics.Warnings = append(r.diagnostics.Warnings, unlikely...)
	r.diagnostics.Residuals = r.PlotRows.residuals(r.Certificate.Counts.Prior == 0)
	r.diagnostics.Residuals.Known = r.Certificate.Mean != nil && r.Certificate.Counts.Outside == 0
	return r, errors.Join(err, fault)
}

// Prepare prepares the pass that the training state is for. It opens the source again, and for a last pass reads the model
// back. It uses Open, Sink and Resources of env.
func Prepare(ctx context.Context, h *pass.TrainingState, env fit.Environment) (*pass.Prepared, error) {
	j, err := h.Job()
	if err := errors.Join(err, job.Needs("Open of the environment", env.Open != nil), job.Needs("Sink of the environment", env.Sink != nil)); err != nil {
		return nil, err
	}
	env.Resources = env.Resources.WithDefaults()
	if h.First() {
		src, err := env.Open(ctx, nil)
		if err != nil {
			return nil, err
		}
		return h.PrepareFirst(ctx, src, j, env.Resources)
	}
	m, err := env.Sink.GetModel(ctx, h.Model)
	if err != nil {
		return nil, err
	}
	src, err := env.Open(ctx, m.Meta.FeatureNames())
	if err != nil {
		return nil, err
	}
	return pass.Prepare(ctx, src, m, j, h, env.Resources)
}

// TrainForParts is [Train] without the last pass: it stores a training state in the output, for [Prepare] and
// [CertifyParts].
func TrainForParts(ctx context.Context, j job.Job, rows dataset.Rows, out Output, how RunConfig) (err error) {
	s, err := newStage(j, rows, out, how)
	if err := errors.Join(err, j.Sequenced()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Release(false)) }()
	if j.Unit.Given() {
		return fmt.Errorf("%w: unit: the last pass over units is not made in parts", job.ErrConfig)
	}
	release, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	defer s.fail(ctx, &err)
	if err := s.record(); err != nil {
		return err
	}
	env := s.environment()
	if how.FirstPass != nil && s.first.Files() != nil {
		env.FirstPass = func(ctx context.Context, h *pass.TrainingState, _ []dataset.Shard, use func(*pass.Pass) error) error {
			if err := out.PutTrainingState(ctx, h); err != nil {
				return err
			}
			return how.FirstPass(ctx, use)
		}
	}
	h, err := fit.Fit(ctx, j, env)
	if err != nil {
		return s.interruption(err)
	}
	if err := out.PutTrainingState(ctx, h); err != nil {
		return err
	}
	if err := s.at.Clear(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return s.state.End(out, StateFinished, new(int), "", time.Now())
}

// Try is [Train] without the last pass, artifacts and record: it returns what [fit.Try] finds.
func Try(ctx context.Context, j job.Job, rows dataset.Rows, out Output, how RunConfig) (o fit.Trial, err error) {
	s, err := newStage(j, rows, out, how)
	if err := errors.Join(err, j.Sequenced()); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, rows.Release(false)) }()
	release, err := s.begin(ctx)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if o, err = fit.Try(ctx, j, s.environment()); err != nil {
		return o, s.interruption(err)
	}
	return o, s.at.Clear(context.WithoutCancel(ctx))
}

// CertifyParts publishes the result of [TrainForParts], with the model m of the training state, after all parts of the last
// pass are merged. If the rows cannot be opened here, it writes no manifest.
func CertifyParts(ctx context.Context, h *pass.TrainingState, m pass.Model, all *pass.Pass, job job.Job, rows dataset.Rows, out Output, how RunConfig) (o *Outcome, err error) {
	s, err := newStage(job, rows, out, how)
	if err != nil {
		return nil, err
	}
	release, err := out.Hold()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if s.state, err = BeginRun(out, how.Run, job, s.began, nil); err != nil {
		return nil, err
	}
	defer s.fail(ctx, &err)
	if _, err := out.PutModel(ctx, m); err != nil {
		return nil, err
	}
	r, err := Certify(ctx, h, all, fit.Environment{Sink: out, Resources: how.Resources, Observer: how.Observer, Software: how.Software})
	if err != nil {
		return nil, err
	}
	if s.last, err = s.open(ctx, nil); err == nil {
		err = s.list(r)
	}
	if err != nil { // the rows were read elsewhere
		how.Observer.ReportWarning("there is no manifest next to the certificate, for the files cannot be listed here: " + err.Error())
	}
	if o, err = s.how.outcome(r, s.began); err != nil {
		return nil, err
	}
	if err := s.end(ctx, o, nil); err != nil {
		return nil, err
	}
	return o, s.tidy(ctx)
}
