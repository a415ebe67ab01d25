package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Where artifacts are read from and written to: this file alone knows the adapters
// of package sink.

// fileSystem is what files are written through.
type fileSystem = sinklake.FS

// realFiles is the file system of the machine.
func realFiles() fileSystem { return sinklake.OS{} }

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
	data, err := readSmall(reference, "a certificate", maxCertificate)
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
	f, size, err := openSized(reference)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if size > maxCertificate {
		if err := sink.CheckModelSize(f, size); err != nil {
			return nil, fmt.Errorf("%s: it has %d bytes, more than a certificate (%d MiB), and is no model: %w", reference, size, maxCertificate>>20, err)
		}
	}
	return readSized(f, reference, size)
}

// readSmall returns the bytes of a file that cannot have more than limit of them.
func readSmall(path, what string, limit int64) ([]byte, error) {
	f, size, err := openSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if size > limit {
		return nil, fmt.Errorf("%s: it is longer than %s can be (%d KiB); is it one?", path, what, limit>>10)
	}
	return readSized(f, path, size)
}

// openSized opens a regular file without waiting for it.
func openSized(path string) (*os.File, int64, error) {
	f, err := sinklake.OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// readSized reads a file that has this size, and no more of one that grows.
func readSized(f *os.File, path string, size int64) ([]byte, error) {
	if err := affordable(size, allowedMemory()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: it has changed while it was read: %w", path, err)
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

// The names in the output directory that belong to the latest run. Model and
// certificate are named by their content.
const (
	runFile  = "run.json"
	plotFile = "run.png"
)

// What training leaves in its output directory for a last pass in parts. The model has
// no certificate yet: its name is none that readers of the directory look for.
const (
	handoverFile  = "handover.json"
	handoverModel = "handover.model"
)

// maxHandover bounds a handover, whose longest part is a line for each step of training.
const maxHandover = 64 << 20

// publishedNames are the names of the files of a published certificate.
func publishedNames(id, modelDigest string) (model, certificate, row string) {
	return sinklake.ModelName(modelDigest), sinklake.CertificateName(id), sinklake.RowName(id)
}

// An output is where a job publishes to, opened: nobody else writes there meanwhile.
type output struct {
	dir  *sinklake.Directory
	path string
	fs   fileSystem
}

// openOutput opens the output of a job, and makes it if it is not there.
func openOutput(path string, w system) (*output, error) {
	dir, err := sinklake.Open(path, w.fs)
	if err != nil {
		return nil, err
	}
	return &output{dir, path, w.fs}, nil
}

// Close gives the output back.
func (o *output) Close() error { return o.dir.Close() }

// sink is where model and certificate go.
func (o *output) sink() pipeline.Sink { return o.dir }

// notice says what a user should know of the place, or is "".
func (o *output) notice() string { return sinklake.SyncNotice(o.fs, o.path) }

// forget removes what another training has left for its last pass.
func (o *output) forget() error {
	for _, name := range []string{handoverFile, handoverModel} {
		if err := o.dir.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// attempts is the log of attempts at a path, or with "" the one of the output, and
// what it holds.
func (o *output) attempts(ctx context.Context, path string, notice func(string)) (pipeline.Attempts, []pipeline.Attempt, error) {
	log := o.dir.AttemptLog()
	if path != "" {
		log = sinklake.NewAttemptLog(path, o.fs)
	}
	log.Notice = notice
	before, err := log.Attempts(ctx)
	return log, before, err
}

// A checkpoint is the place of a job's checkpoint.
type checkpoint interface {
	pipeline.Checkpoints
	Path() string
}

// checkpoints returns the places of the jobs' checkpoints and says which other jobs
// have left theirs.
func (o *output) checkpoints(jobs []pipeline.Job, notice func(string)) ([]checkpoint, error) {
	var own []checkpoint
	var one *sinklake.Checkpoint
	paths := map[string]bool{}
	for _, job := range jobs {
		digest, err := job.Digest()
		if err != nil {
			return nil, err
		}
		one = o.dir.Checkpoint(digest.String())
		own, paths[one.Path()] = append(own, one), true
	}
	others, err := one.Others()
	for _, other := range others {
		switch {
		case paths[other.Path]:
		case other.Fault != nil:
			notice(fmt.Sprintf("%s is damaged, or no checkpoint: %v; no job goes on from it, and it is left as it is", other.Path, other.Fault))
		default:
			notice(other.Path + " is kept for another job that was not finished, and that goes on from it when it is run again; remove it if it is not to")
		}
	}
	return own, err
}

// leave writes what the last pass needs. The handover is last: where it is, the model
// is.
func (o *output) leave(ctx context.Context, h *pipeline.Handover) error {
	m, err := o.dir.GetModel(ctx, h.Model)
	if err != nil {
		return err
	}
	data, err := sink.EncodeModel(m)
	if err != nil {
		return err
	}
	doc, err := json.MarshalIndent(h, "", "  ") //nolint:gosec // its secret is for those who read this file
	if err != nil {
		return fmt.Errorf("handover: %w", err)
	}
	return errors.Join(o.dir.Put(handoverModel, data), o.dir.Put(handoverFile, append(doc, '\n')))
}

// report writes the plot and the record of a run, which is last.
func (o *output) report(record runRecord, plot []byte) error {
	doc, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("run record: %w", err)
	}
	if err := o.dir.Put(plotFile, plot); err != nil {
		return err
	}
	return o.dir.Put(runFile, append(doc, '\n'))
}

// A handedOver is what train --no-pass left in an output directory.
type handedOver struct {
	*pipeline.Handover
	folder string
}

// readHandover reads what was left there for a job.
func readHandover(folder string, job pipeline.Job) (handedOver, error) {
	path := filepath.Join(folder, handoverFile)
	data, err := readSmall(path, "a handover", maxHandover)
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
	return []string{filepath.Join(h.folder, handoverModel), filepath.Join(h.folder, handoverFile)}
}

// model reads the trained model back from its file.
func (h handedOver) model(ctx context.Context) (pipeline.Model, error) {
	path := filepath.Join(h.folder, handoverModel)
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
// the command reads, from the data.
func newFile(w system, path string, reading []string) (*sinklake.Pending, error) {
	if err := mayReplace(path, reading); err != nil {
		return nil, err
	}
	return sinklake.Create(w.fs, path)
}

// tidy says what a user should know of the folder of a file that is to be written,
// and removes what killed commands left there.
func tidy(w system, path string) {
	folder := filepath.Dir(path)
	if text := sinklake.SyncNotice(w.fs, folder); text != "" {
		_, _ = fmt.Fprintln(w.stderr, "pacsgp: note:", text)
	}
	if err := sinklake.Sweep(w.fs, folder); err != nil { // no reason not to write
		_, _ = fmt.Fprintln(w.stderr, "pacsgp: note:", err)
	}
}
