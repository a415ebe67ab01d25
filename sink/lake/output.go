package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// Files in an output that only the latest run or training has.
const (
	// RunFile is the record of the latest run that finished.
	RunFile = "run.json"
	// PlotFile is the plot of that run.
	PlotFile = "run.png"
	// TrainingStateFile has what training passes on to a last pass in parts.
	TrainingStateFile = "training-state.json"
	// TrainingStateModel is the model of the training state. It is not certified yet, so its name
	// is not one that readers of the directory open.
	TrainingStateModel = "training-state.model"
)

// MaxCertificate bounds a certificate in either form, in bytes. One about 1,000 columns has some 200 KB.
const MaxCertificate = 16 << 20

// An Output is a directory that a job publishes to. While it is held, only this process may write
// to it. Its methods are for one goroutine at a time.
type Output struct {
	// Sign names the key that signs certificates. Hold reads the key.
	Sign sign.KeyFile

	fs     durable.FS
	path   string
	logged int // the number of entries of each list that the log keeps; zero means all

	// Valid while the output is held:
	holds int // calls of Hold minus calls of Close
	lock  io.Closer
	key   *sign.Key // nil if certificates are not signed
	// staged has the models without a certificate, by digest. Their hidden files are whole and durable.
	staged map[string]*durable.Pending
}

var _ pipeline.Output = (*Output)(nil)

// NewOutput returns the output in a folder, which may be absent. A nil FS means [durable.OS].
func NewOutput(path string, fsys durable.FS) *Output {
	return &Output{fs: objects.FilesOf(fsys, path), path: path}
}

// Open returns the output in a folder and holds it until Close.
func Open(path string, fsys durable.FS) (*Output, error) {
	o := NewOutput(path, fsys)
	_, err := o.Hold()
	return o, err
}

// Folder is the path of the directory.
func (o *Output) Folder() string { return o.path }

// OutputLock names the lock of an output, StreamLock that of a folder of a stream. If such a file were removed, two
// processes could lock two files of that name.
const (
	OutputLock = ".lock"
	StreamLock = ".stream.lock"
)

// AtWork reports whether a process holds a lock in a folder, true if that is unknown, and whether one ever did.
func AtWork(folder, lock string) (held, ever bool) {
	path := filepath.Join(folder, lock)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, false
	}
	file, err := durable.OS{}.Lock(path)
	return err != nil || file.Close() != nil, true
}

// Hold makes the directory if it is absent, locks it, and removes unfinished files of a killed job.
// It returns [pipeline.ErrHeld] while another process holds the directory. Holds nest: the
// directory is unlocked when each has been released.
func (o *Output) Hold() (release func() error, err error) {
	if o.holds == 0 {
		if o.key, err = o.Sign.Read(); err != nil {
			return nil, err
		}
		if o.lock, err = lockIn(o.fs, o.path, OutputLock, "wait for the other process, or choose another output directory"); err != nil {
			return nil, err
		}
		o.staged = map[string]*durable.Pending{}
	}
	o.holds++
	return o.Close, nil
}

// Close ends one hold. The last Close removes models without a certificate and unlocks the directory.
func (o *Output) Close() error {
	if o.holds--; o.holds > 0 {
		return nil
	}
	for _, model := range o.staged {
		model.Abort()
	}
	return o.lock.Close()
}

// Warnings returns a sentence for each checkpoint that does not belong to one of these jobs.
func (o *Output) Warnings(jobs []job.Digest) (said []string, err error) {
	own := map[string]bool{}
	for _, job := range jobs {
		own[checkpointPrefix+job.String()] = true
	}
	names, err := o.fs.List(o.path)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", o.path, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, checkpointPrefix) && !own[name] {
			said = append(said, o.Path(name)+" is kept for another job that was not finished, which resumes from it when it is run again; remove it to start that job again")
		}
	}
	return said, nil
}

// GetCertificate reads a certificate that was published here.
func (o *Output) GetCertificate(ctx context.Context, id string) (certify.Certificate, error) {
	return readCertificate(ctx, o.fs, o.Path(CertificateName(id)))
}

// readCertificate reads a certificate. Its id must be the one in the file's name.
func readCertificate(ctx context.Context, fsys durable.FS, path string) (c certify.Certificate, err error) {
	document, err := readDocument(ctx, fsys, path)
	if err != nil {
		return c, err
	}
	if c, err = certify.Parse(document); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return c, err
}

// readDocument is readCertificate without parsing.
func readDocument(ctx context.Context, fsys durable.FS, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	document, err := readAtMost(fsys, path, MaxCertificate)
	if err != nil {
		return nil, err
	}
	if id := digest.Of(document); strings.TrimPrefix(filepath.Base(path), "_") != CertificateName(id) {
		return nil, fmt.Errorf("%s: its id is %s", path, id)
	}
	return document, nil
}

// PutTrainingState writes the model and the training state for a last pass in parts. It writes the
// training state last: where that exists, the model does.
func (o *Output) PutTrainingState(ctx context.Context, h *pass.TrainingState) error {
	if !h.First() {
		m, err := o.GetModel(ctx, h.Model)
		if err != nil {
			return err
		}
		data, err := sink.EncodeModel(m)
		if err != nil {
			return err
		}
		if err := o.Put(TrainingStateModel, data); err != nil {
			return err
		}
	}
	return o.putSealed(TrainingStateFile, h)
}

// DropTrainingState removes the training state of an earlier training.
func (o *Output) DropTrainingState() error {
	return errors.Join(o.Remove(TrainingStateFile), o.Remove(TrainingStateModel))
}

// putSealed is putJSON with a checksum.
func (o *Output) putSealed(name string, value any) error {
	doc, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return o.Put(name, digest.Seal(doc))
}

func (o *Output) putJSON(name string, value any) error {
	doc, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return o.Put(name, append(doc, '\n'))
}

// PutReport publishes the plot of a run, then its record.
func (o *Output) PutReport(record pipeline.RunRecord, plot []byte) error {
	if err := o.Put(PlotFile, plot); err != nil {
		return err
	}
	return o.putJSON(RunFile, record)
}

// Certificates returns the sorted ids of the certificates. A missing directory has none.
func (o *Output) Certificates() ([]string, error) {
	names, err := o.fs.List(o.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, name := range names {
		id, ok := strings.CutPrefix(name, "certificate-")
		id, json := strings.CutSuffix(id, ".json")
		if ok && json && digest.Is(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, err
}

const maxManifest = 256 << 20

// ManifestName returns the name of a certificate's manifest.
func ManifestName(id string) string { return "manifest-" + id + ".json" }

// PutManifest writes a manifest next to its certificate.
func (o *Output) PutManifest(m pipeline.Manifest) error {
	return o.putJSON(ManifestName(m.Certificate), m)
}

// GetManifest reads the manifest of a certificate. It must be about that certificate.
func (o *Output) GetManifest(c certify.Certificate, id string) (pipeline.Manifest, error) {
	var m pipeline.Manifest
	path := o.Path(ManifestName(id))
	data, err := readAtMost(o.fs, path, maxManifest)
	if err != nil {
		return m, err
	}
	if err := certify.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w: it is no manifest: %w", path, job.ErrRefused, err)
	}
	if err := m.Check(c, id); err != nil {
		return m, fmt.Errorf("%s: %w: %w", path, job.ErrRefused, err)
	}
	return m, nil
}
