package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// maxTrainingState bounds a training state, in bytes. Its longest part is a line for each step.
const maxTrainingState = 64 << 20

// A TrainingState is what train --no-pass leaves in an output for a last pass in parts, or for a first pass in parts.
type TrainingState struct {
	*pass.TrainingState
	Digest string // SHA-256 of the file
	folder string
}

// TrainingState reads the training state in the output of the task.
func (p Task) TrainingState() (TrainingState, error) {
	path := filepath.Join(p.Output, TrainingStateFile)
	data, err := durable.ReadSmall(path, "a training state", maxTrainingState)
	if errors.Is(err, fs.ErrNotExist) {
		return TrainingState{}, fmt.Errorf("%w\nhint: the last pass of a job goes on from pacsgp train --no-pass, in the same output directory", err)
	}
	if err != nil {
		return TrainingState{}, err
	}
	h, err := pass.ParseTrainingState(data)
	if err == nil {
		err = h.Of(p.Job)
	}
	if err != nil {
		return TrainingState{}, fmt.Errorf("%s: %w", path, err)
	}
	return TrainingState{h, digest.Of(data), p.Output}, nil
}

// Files returns the paths of the model and of the training state.
func (h TrainingState) Files() []string {
	return []string{filepath.Join(h.folder, sinklake.TrainingStateModel), filepath.Join(h.folder, TrainingStateFile)}
}

// Trained reads the trained model.
func (h TrainingState) Trained(ctx context.Context) (pass.Model, error) {
	if h.First() {
		return pass.Model{}, fmt.Errorf("%s: %w", filepath.Join(h.folder, TrainingStateFile), pass.ErrUntrained)
	}
	path := filepath.Join(h.folder, sinklake.TrainingStateModel)
	m, found, err := ReadModel(ctx, path)
	if err == nil && found != h.Model {
		err = fmt.Errorf("%s: %w: its SHA-256 is %s, not %s", path, job.ErrChanged, found, h.Model)
	}
	return m, err
}

// trainedModel is a [pass.Sink] that only reads the trained model.
type trainedModel struct {
	pass.Sink // nil, since nothing is published
	from      TrainingState
}

func (t trainedModel) GetModel(ctx context.Context, _ string) (pass.Model, error) {
	return t.from.Trained(ctx)
}

// TrainForParts trains a task up to the last pass, which is then made in parts.
func TrainForParts(ctx context.Context, p Task, out *Output, how pipeline.RunConfig) error {
	if err := Local(p.Output); err != nil {
		return err
	}
	return pipeline.TrainForParts(ctx, p.Job, p.Source, out, how)
}

// Prepare prepares the last pass of a trained task.
func Prepare(ctx context.Context, p Task, h TrainingState) (*pass.Prepared, error) {
	return pipeline.Prepare(ctx, h.TrainingState, fit.Environment{
		Open: func(ctx context.Context, features []string) (dataset.Source, error) {
			return dataset.Open(ctx, p.Job, p.Source, features, p.Resources, nil)
		},
		Sink: trainedModel{from: h}, Resources: p.Resources,
	})
}

// Certify merges the parts of the last pass of a trained task, each a file, and publishes model and certificate.
func Certify(ctx context.Context, p Task, h TrainingState, parts []string, out *Output, how pipeline.RunConfig) (o *pipeline.Outcome, err error) {
	all, release, err := MergePasses(parts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	m, err := h.Trained(ctx)
	if err != nil {
		return nil, err
	}
	return pipeline.CertifyParts(ctx, h.TrainingState, m, all, p.Job, p.Source, out, how)
}
