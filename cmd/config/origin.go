package config

import (
	"context"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// An Origin is the origin of rows: the section source of a job, or the arguments DATA of a
// command. A new one is a type, and a case in origin.
type Origin interface {
	dataset.Rows
	// Finds returns the declared path by which a later opening would read this file, or "".
	Finds(path string) string
	// Arguments name these rows on a command line.
	Arguments() []string
	// Replay is the origin of the rows of a certificate.
	Replay(c certify.Certificate) (Origin, error)
}

// A Lake lists the files, directories and globs of a Parquet lake.
type Lake []string

// Open opens the files.
func (l Lake) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	return ingestlake.Rows(l).Open(ctx, want)
}

// A listed lake has the files of its first opening: one that comes while a model is trained belongs to no
// pass.
type listed struct {
	Lake
	files Lake
}

// Open opens the files.
func (l *listed) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	if l.files != nil {
		return l.files.Open(ctx, want)
	}
	src, err := l.Lake.Open(ctx, want)
	if err == nil {
		for _, f := range src.Files() {
			l.files = append(l.files, f.Path)
		}
	}
	return src, err
}

// Finds returns the path by which a later opening would read this file, or "".
func (l Lake) Finds(path string) string { return ingestlake.Finds(l, path) }

// Arguments name these rows on a command line.
func (l Lake) Arguments() []string { return l }

// Replay is the origin of the rows of a certificate.
func (l Lake) Replay(certify.Certificate) (Origin, error) { return l, nil }

// Release does nothing: files are only read.
func (l Lake) Release(bool) error { return nil }

// A Generator makes the rows of a demo.
type Generator = synth.Generator

// NewGenerator returns the generator of the demo: noise of a tenth of the function's deviation.
func NewGenerator() (*Generator, error) {
	return synth.New(synth.Config{Seed: 1, Noise: 0.1})
}
