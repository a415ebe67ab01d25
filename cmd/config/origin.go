package config

import (
	"context"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// An Origin is an origin of rows: the section source of a job, or the arguments DATA of a command.
// A new kind of origin needs a type and a case in origin.
type Origin interface {
	dataset.Rows
	// Finds returns the declared path that a later Open would use to read this file, or "".
	Finds(path string) string
	// Arguments returns how a command line names these rows.
	Arguments() []string
	// Replay returns the origin of the rows of a certificate.
	Replay(c certify.Certificate) (Origin, error)
}

// A Lake is a list of files, directories and globs.
type Lake struct{ ingestlake.Rows }

// A listed lake always has the files of its first opening: a file that appears during training belongs to no pass.
type listed struct {
	Lake
	files ingestlake.Rows
}

func (l *listed) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	if l.files != nil {
		return l.files.Open(ctx, want)
	}
	src, err := l.Lake.Open(ctx, want)
	if err == nil {
		l.files = Paths(src)
	}
	return src, err
}

// Paths returns the paths of the files of a source; none if its rows are not in files.
func Paths(src dataset.Opened) (paths []string) {
	for _, f := range src.Files() {
		paths = append(paths, f.Path)
	}
	return paths
}

// Arguments returns how a command line names these rows.
func (l Lake) Arguments() []string { return l.Rows }

// Replay returns l: the files must have the rows of the certificate.
func (l Lake) Replay(certify.Certificate) (Origin, error) { return l, nil }

// A Generator makes the rows of a demo.
type Generator = synth.Generator

// NewGenerator returns the generator of the demo. The noise is about a tenth of the function's.
func NewGenerator() (*Generator, error) {
	return synth.New(synth.Config{Seed: 1, Noise: 0.1})
}
