// Package fit trains a model after a first pass: it delivers rows to the trainer, chooses among candidates, writes
// checkpoints, and chooses the predictor on the prior rows.
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
func Fit(ctx context.Context, j job.Job, env Environment) (*pass.TrainingState, error) {
	began := time.Now()
	env.Resources = env.Resources.WithDefaults()
	err := errors.Join(
		j.Complete(), j.Sequenced(), job.Needs("Open of the environment", env.Open != nil), job.Needs("Sink of the environment", env.Sink != nil),
		job.Needs("Log of the environment", env.Log != nil), job.Needs("Checkpoints of the environment", env.Checkpoints != nil), job.Needs("Software of the environment", env.Software != "", certify.Name("software", env.Software)),
	)
	if err != nil {
		return nil, err
	}
	src, s, h, err := begin(ctx, j, env)
	if err != nil {
		return nil, err
	}
	j.Repeats = h.Repeats
	took := time.Since(began)
	env.Observer.ReportProgress(job.Progress{Phase: job.PhaseStart, Elapsed: job.Seconds(took)})
	m, how, err := Train(ctx, src, s, j, env, began, nil)
	if err != nil {
		return nil, err
	}
	h.Training, h.FirstPassSeconds, h.TrainSeconds = how, took.Seconds(), (time.Since(began) - took).Seconds()
	if h.Model, err = env.Sink.PutModel(ctx, m); err != nil {
		return nil, err
	}
	h.Reuse, err = reuse(j, s, h, env.Log)
	return h, err
}

// A Trial is what training shows without the held-out rows. It certifies nothing.
type Trial struct {
	Bound     float64 `json:"bound"`      // of a draw, from the training rows or enough of them
	PriorRows int     `json:"prior_rows"` // rows on which the predictor was chosen
	PriorLoss float64 `json:"prior_loss"` // mean loss of predictions on them, in [0, 1]; 0 if there are none
}

// Try trains as [Fit] does, but stores no model, and no loss of a held-out row is computed. It needs Open and Log of env.
// The attempt is recorded, because a job that is changed afterwards depends on the training rows.
func Try(ctx context.Context, j job.Job, env Environment) (o Trial, err error) {
	began := time.Now()
	src, s, h, err := begin(ctx, j, env)
	if err != nil {
		return o, err
	}
	j.Repeats = h.Repeats
	t, err := newTraining(ctx, src, s, j, env, began, nil)
	if err != nil {
		return o, err
	}
	m, _, err := t.run(ctx)
	if err != nil {
		return o, err
	}
	o.PriorRows, o.PriorLoss = t.choice.priorRows, t.choice.priorLoss
	o.Bound, err = t.bound(ctx, m)
	return o, err
}

// begin makes the first pass of a job, and records the attempt before there is any result.
func begin(ctx context.Context, j job.Job, env Environment) (src dataset.Source, s *pass.FirstPass, h *pass.TrainingState, err error) {
	env.Observer.ReportProgress(job.Progress{Phase: job.PhaseFirstPass})
	if src, err = env.Open(ctx, nil); err != nil {
		return nil, nil, nil, err
	}
	s, err = pass.First(ctx, src, j, env.Resources, env.FirstPass)
	if err == nil && env.FirstPass != nil && !j.FiltersRows() {
		err = s.CheckLeftOut(ctx, env.Open, env.Resources.Workers)
	}
	if s != nil {
		err = errors.Join(err, s.PutAway(ctx, src, env.Rejects, env.Resources))
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if h, err = s.TrainingState(j, src); err != nil {
		return nil, nil, nil, err
	}
	for _, text := range h.Warnings {
		env.Observer.ReportWarning(text)
	}
	if h.Attempt, err = attempt(j, s, env); err != nil {
		return nil, nil, nil, err
	}
	env.Observer.ReportEvent(fmt.Sprintf("job %d on these rows, job %d in this output", h.Attempt.OnTheseRows, h.Attempt.InThisLog))
	return src, s, h, nil
}

// Checkpoints stores the latest checkpoint of a job, durably.
type Checkpoints interface {
	// Save replaces the checkpoint atomically and durably. It does not use state after it returns.
	Save(ctx context.Context, state []byte) error
	// Load returns the checkpoint, or nil if there is none. A damaged one is an error. The caller owns the bytes.
	Load(ctx context.Context) ([]byte, error)
	// Clear removes the checkpoint, if there is one.
	Clear(ctx context.Context) error
	// Where returns the location, for messages, and whether a checkpoint is there.
	Where() (location string, there bool)
}

// An Environment holds the ports and settings of a run. Open, Sink, Log, Checkpoints and Software are required. Other
// fields may be zero.
type Environment struct {
	// Open opens the source as [dataset.Open] does, with these features, or with the job's own if features is nil. It is
	// called for training and again for the last pass.
	Open        func(ctx context.Context, features []string) (dataset.Source, error)
	Sink        pass.Sink
	Log         Logs
	Checkpoints Checkpoints
	Parent      *Parent         // training begins with its posterior, if the job has warm starts; may be nil
	Rejects     dataset.Rejects // store for rejected rows; if nil, they are only counted
	FirstPass   pass.Parts      // makes the first pass in parts, if the job allows it; if nil, this process reads all rows
	Resources   job.Resources
	Observer    job.Observer
	Software    string // name and version of the program, for the certificate
}

// Untrainable reports whether an error of training is a fault of the rows, so that a retry does not help.
func Untrainable(err error) bool {
	return errors.Is(err, job.ErrData) || errors.Is(err, model.ErrNotPositiveDefinite) || errors.Is(err, model.ErrDiverged)
}
