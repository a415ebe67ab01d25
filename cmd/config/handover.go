package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// maxHandover bounds a handover, whose longest part is a line for each step of training.
const maxHandover = 64 << 20

// A Handover is the result of train --no-pass in an output, for a last pass in parts; or what it left for
// a first one.
type Handover struct {
	*pass.Handover
	Digest string // SHA-256 of its document
	folder string
}

// Handover reads the handover of the task.
func (p Task) Handover() (Handover, error) {
	path := filepath.Join(p.Output, HandoverFile)
	data, err := durable.ReadSmall(path, "a handover", maxHandover)
	if errors.Is(err, fs.ErrNotExist) {
		return Handover{}, fmt.Errorf("%w\nhint: the last pass of a job goes on from pacsgp train --no-pass, in the same output directory", err)
	}
	if err != nil {
		return Handover{}, err
	}
	h, err := pass.ParseHandover(data)
	if err == nil {
		err = h.Of(p.Job)
	}
	if err != nil {
		return Handover{}, fmt.Errorf("%s: %w", path, err)
	}
	return Handover{h, sink.DigestOf(data), p.Output}, nil
}

// Files are its paths.
func (h Handover) Files() []string {
	return []string{filepath.Join(h.folder, sinklake.HandoverModel), filepath.Join(h.folder, HandoverFile)}
}

// Trained reads the trained model back from its file.
func (h Handover) Trained(ctx context.Context) (pass.Model, error) {
	if h.First() {
		return pass.Model{}, fmt.Errorf("%s: %w", filepath.Join(h.folder, HandoverFile), pass.ErrUntrained)
	}
	path := filepath.Join(h.folder, sinklake.HandoverModel)
	m, found, err := ReadModel(ctx, path)
	if err == nil && found != h.Model {
		err = fmt.Errorf("%s: %w: its SHA-256 is %s, not %s", path, job.ErrChanged, found, h.Model)
	}
	return m, err
}

// Sink gives the trained model, and publishes nothing.
func (h Handover) Sink() pass.Sink { return trainedModel{from: h} }

type trainedModel struct {
	pass.Sink // none: nothing is published
	from      Handover
}

// GetModel reads the model back from its file.
func (t trainedModel) GetModel(ctx context.Context, _ string) (pass.Model, error) {
	return t.from.Trained(ctx)
}

// TrainForParts trains a task up to the last pass, whose parts others make.
func TrainForParts(ctx context.Context, p Task, out *Output, how pipeline.RunConfig) error {
	if err := Local(p.Output); err != nil {
		return err
	}
	return pipeline.TrainForParts(ctx, p.Job, p.Source, out, how)
}

// Prepare prepares the last pass of a task that is trained.
func Prepare(ctx context.Context, p Task, h Handover) (*pass.Prepared, error) {
	return pipeline.Prepare(ctx, h.Handover, fit.Environment{
		Open: func(ctx context.Context, features []string) (dataset.Source, error) {
			return dataset.Open(ctx, p.Job, p.Source, features, p.Resources, nil)
		},
		Sink: h.Sink(), Resources: p.Resources,
	})
}

// Certify merges the parts of the last pass of a task that is trained, which are files, and publishes
// model and certificate.
func Certify(ctx context.Context, p Task, h Handover, parts []string, out *Output, how pipeline.RunConfig) (o *pipeline.Outcome, err error) {
	all, release, err := MergePasses(parts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	m, err := h.Trained(ctx)
	if err != nil {
		return nil, err
	}
	return pipeline.CertifyParts(ctx, h.Handover, m, all, p.Job, p.Source, out, how)
}
