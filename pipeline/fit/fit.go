// Package fit makes a model from a first pass: it feeds rows to the trainer, chooses among candidates,
// keeps checkpoints, and chooses the predictor on the prior rows.
package fit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// Fit is [pipeline.Run] without the last pass: it trains, stores the model and returns the training state
// for [pipeline.Prepare] and [pipeline.Certify].
func Fit(ctx context.Context, j job.Job, env Environment) (found *pass.TrainingState, err error) {
	if j.Unit.Given() {
		return nil, fmt.Errorf("%w: unit: the last pass over units is not made in parts", job.ErrConfig)
	}
	env.Resources = env.Resources.WithDefaults()
	b, err := Begin(ctx, j, env)
	if err != nil {
		return nil, err
	}
	return Train(ctx, j, b.Src, b.FirstPass, b.Attempt, env, b.At)
}

// Checkpoints keeps the one latest checkpoint of a job. It outlives the process.
type Checkpoints interface {
	// Save replaces the checkpoint atomically and durably. It does not keep state.
	Save(ctx context.Context, state []byte) error
	// Load returns the checkpoint, or nil if there is none. A damaged one
	// is an error. The caller owns the bytes.
	Load(ctx context.Context) ([]byte, error)
	// Clear removes the checkpoint, if there is one.
	Clear(ctx context.Context) error
}

// Environment has the ports and settings of a run. Open, Sink, Log, Checkpoints and
// Software are required; every other field may be zero.
type Environment struct {
	// Open opens the source again with these features (nil: the job's own), the column of
	// the mean and the target, as [dataset.Open] does. It is called for training and again for
	// the last pass.
	Open        func(ctx context.Context, features []string) (dataset.Source, error)
	Sink        pass.Sink
	Log         Logs
	Checkpoints Checkpoints
	Parent      *Parent         // of a job with warm starts: training begins with its posterior; nil: none
	Rejects     dataset.Rejects // of rejected rows; nil: they are counted only
	FirstPass   pass.Parts      // makes the first pass in parts, if the job allows it; nil: one process reads all rows
	Resources   job.Resources
	Observer    job.Observer
	Software    string // names the program in the certificate

	StoppedAfter *int64 // steps before the time limit, of a repeated training; nil: the clock decides
}

// Needs returns an error for each of these fields that is not set.
func (e Environment) Needs(fields ...string) error {
	return job.Unset(" of the environment", map[string]bool{
		"Open": e.Open == nil, "Sink": e.Sink == nil, "Log": e.Log == nil, "Checkpoints": e.Checkpoints == nil,
		"Software": e.Software == "",
	}, fields)
}

// Train trains, stores the model, and returns the training state to the last pass.
func Train(ctx context.Context, job job.Job, src dataset.Source, s *pass.FirstPass, attempt certify.Attempt, env Environment, began time.Time) (*pass.TrainingState, error) {
	job.Repeats = s.Repeats
	took := time.Since(began)
	fit, err := train(ctx, src, s, job, env, began)
	if err != nil {
		return nil, err
	}
	configuration, err := job.Canonical()
	if err != nil {
		return nil, err
	}
	h := &pass.TrainingState{
		Format: pass.TrainingStateFormat, Arithmetic: model.Arithmetic, Configuration: configuration, Sample: s.Digest.String(), Targets: s.Targets.String(),
		Segments: dataset.SegmentsOf(src), Reference: s.Reference.Digest(s.Used), Constant: s.Constant(fit.Model.Meta.Loss), Groups: s.Groups, Attempt: attempt, Sequence: job.Numbering, Repeats: s.Repeats, Secret: dataset.NewSecret().String(),
		Training: fit.Training, Warnings: s.Warnings, FirstPassSeconds: took.Seconds(), TrainSeconds: (time.Since(began) - took).Seconds(),
	}
	h.NoteSplit(job, s.Split)
	if h.Model, err = env.Sink.PutModel(ctx, fit.Model); err != nil {
		return nil, err
	}
	h.Reuse, err = reuse(job, s, h.Model, env)
	return h, err
}

// Untrainable reports whether an error of training is a fault of the rows, which no retry mends.
func Untrainable(err error) bool {
	return errors.Is(err, job.ErrData) || errors.Is(err, model.ErrNotPositiveDefinite) || errors.Is(err, model.ErrDiverged)
}
