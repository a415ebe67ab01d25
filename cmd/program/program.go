// Package program has what the programs that train share: pacsgp, and those on an engine, which have
// the parts of a last pass made elsewhere.
package program

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Software names the program in certificates: its version only, so that two builds of one source
// give the same bytes.
func Software() string { return "pacsgp " + Version() }

// Version is the main module's version, or "devel" in a build from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// TrainForParts trains a task up to the last pass, whose parts others make.
func TrainForParts(ctx context.Context, p config.Task, out *config.Output, how pipeline.RunConfig) error {
	if _, piped := p.Source.(*config.Stdin); piped {
		return config.Argument(errors.New("a last pass in parts: they read the rows themselves, and a stream is read once: name files or a topic"))
	}
	if err := config.Local(p.Output); err != nil {
		return err
	}
	return pipeline.TrainForParts(ctx, p.Job, p.Source, out, how)
}

// Prepare prepares the last pass of a task that is trained.
func Prepare(ctx context.Context, p config.Task, h config.Handover) (*pipeline.Prepared, error) {
	return h.Prepare(ctx, pipeline.Environment{
		Open: func(ctx context.Context, features []string) (pipeline.Source, error) {
			return p.Job.Open(ctx, p.Source, features, p.Resources, nil)
		},
		Sink: h.Sink(), Resources: p.Resources,
	})
}

// Certify merges the parts of the last pass of a task that is trained, which are files, and publishes
// model and certificate.
func Certify(ctx context.Context, p config.Task, h config.Handover, parts []string, out *config.Output, how pipeline.RunConfig) (o *pipeline.Outcome, err error) {
	all, release, err := config.MergePasses(parts)
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
