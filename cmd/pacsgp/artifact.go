package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Where artifacts are read from and written to: this file alone knows the adapters
// of package sink.

// fileSystem is what files are written through.
type fileSystem = durable.FS

// realFiles is the file system of the machine.
func realFiles() fileSystem { return durable.OS{} }

// maxCertificate bounds a certificate, in either form. One about 1,000 columns has
// some 200 KB.
const maxCertificate = 16 << 20

// readModel reads the model that a reference names and returns the SHA-256 of its
// bytes with it.
func readModel(ctx context.Context, reference string) (pipeline.Model, string, error) {
	if a, ok, err := config.OnTopics(ctx, reference); ok || err != nil {
		if err != nil {
			return pipeline.Model{}, "", err
		}
		return modelIn(reference, a.Model)
	}
	data, err := readArtifact(ctx, reference)
	if err != nil {
		return pipeline.Model{}, "", err
	}
	return modelIn(reference, data)
}

// readCertificate reads the certificate that a reference names, its JSON document or
// its Parquet row, and returns its id with it: the SHA-256 of the document.
func readCertificate(ctx context.Context, reference string) (certify.Certificate, string, error) {
	if a, ok, err := config.OnTopics(ctx, reference); ok || err != nil {
		if err != nil {
			return certify.Certificate{}, "", err
		}
		return certificateIn(reference, a.Document)
	}
	if err := errors.Join(ctx.Err(), config.Local(reference)); err != nil {
		return certify.Certificate{}, "", err
	}
	data, err := durable.ReadSmall(reference, "a certificate", maxCertificate)
	if err != nil {
		return certify.Certificate{}, "", err
	}
	return certificateIn(reference, data)
}

// readArtifact returns the bytes of what may be a certificate or a model: at most as
// many as a certificate can have, or as a model's own footer says. On topics it is the
// certificate.
func readArtifact(ctx context.Context, reference string) ([]byte, error) {
	if a, ok, err := config.OnTopics(ctx, reference); ok || err != nil {
		return a.Document, err
	}
	if err := errors.Join(ctx.Err(), config.Local(reference)); err != nil {
		return nil, err
	}
	f, size, err := durable.OpenRegular(reference)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if size > maxCertificate {
		if err := sink.CheckModelSize(f, size); err != nil {
			return nil, fmt.Errorf("%s: it has %d bytes, more than a certificate (%d MiB), and is no model: %w", reference, size, maxCertificate>>20, err)
		}
	}
	if err := affordable(size, allowedMemory()); err != nil {
		return nil, fmt.Errorf("%s: %w", reference, err)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: it has changed while it was read: %w", reference, err)
	}
	return data, nil
}

// affordable refuses to read a file of a size as a whole, beside what its values take,
// where that is more memory than is allowed; 0 is not known.
func affordable(size, allowed int64) error {
	if allowed > 0 && size > allowed/2 {
		return fmt.Errorf("its %s and what they hold take twice as much memory, and the process may have %s", bytesWords(size), bytesWords(allowed))
	}
	return nil
}

// maxHandover bounds a handover, whose longest part is a line for each step of training.
const maxHandover = 64 << 20

// A handedOver is what train --no-pass left in an output directory.
type handedOver struct {
	*pipeline.Handover
	folder string
}

// readHandover reads what was left there for a job.
func readHandover(folder string, job pipeline.Job) (handedOver, error) {
	path := filepath.Join(folder, sinklake.HandoverFile)
	data, err := durable.ReadSmall(path, "a handover", maxHandover)
	if errors.Is(err, fs.ErrNotExist) {
		return handedOver{}, fmt.Errorf("%w\nhint: the last pass of a job goes on from pacsgp train --no-pass, in the same output directory", err)
	}
	if err != nil {
		return handedOver{}, err
	}
	h, err := pipeline.ParseHandover(data)
	if err == nil {
		err = h.Of(job)
	}
	if err != nil {
		return handedOver{}, fmt.Errorf("%s: %w", path, err)
	}
	return handedOver{h, folder}, nil
}

// files are the paths of the handover.
func (h handedOver) files() []string {
	return []string{filepath.Join(h.folder, sinklake.HandoverModel), filepath.Join(h.folder, sinklake.HandoverFile)}
}

// model reads the trained model back from its file.
func (h handedOver) model(ctx context.Context) (pipeline.Model, error) {
	path := filepath.Join(h.folder, sinklake.HandoverModel)
	m, found, err := readModel(ctx, path)
	if err == nil && found != h.Model {
		err = fmt.Errorf("%s: %w: its SHA-256 is %s, not %s", path, pipeline.ErrChanged, found, h.Model)
	}
	return m, err
}

// sink is one that gives the trained model and takes nothing.
func (h handedOver) sink() pipeline.Sink { return trainedModel{from: h} }

type trainedModel struct {
	pipeline.Sink // none: nothing is published
	from          handedOver
}

// GetModel reads the model back from its file.
func (t trainedModel) GetModel(ctx context.Context, _ string) (pipeline.Model, error) {
	return t.from.model(ctx)
}

// newFile begins a file that nobody sees until its Commit. reading are the files that
// the command reads, from the data. It says what a user should know of the folder, and
// removes what killed commands left there.
func newFile(w system, path string, reading []string) (*durable.Pending, error) {
	if err := mayReplace(path, reading); err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	if text := durable.SyncNotice(w.fs, folder); text != "" {
		_, _ = fmt.Fprintln(w.stderr, "pacsgp: note:", text)
	}
	if err := durable.Sweep(w.fs, folder); err != nil { // no reason not to write
		_, _ = fmt.Fprintln(w.stderr, "pacsgp: note:", err)
	}
	return durable.Create(w.fs, path)
}
