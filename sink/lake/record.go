package lake

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink"
)

// A Record is the record of a schedule: a folder with a small file a job. One scheduler at a time
// has it locked.
type Record struct {
	fs     durable.FS
	folder string
	lock   io.Closer
}

var _ schedule.Record = (*Record)(nil)

// maxState bounds the file of a job, whose longest part is a key for each file of a run.
const maxState = 256 << 20

// OpenRecord makes the folder if it is absent, and locks it until Close. It returns
// [pipeline.ErrHeld] while another scheduler has it. A nil FS means [durable.OS].
func OpenRecord(path string, fsys durable.FS) (*Record, error) {
	fsys = cmp.Or[durable.FS](fsys, durable.OS{})
	if err := fsys.MkdirAll(path); errors.Is(err, durable.ErrNoFolder) {
		return nil, fmt.Errorf("%s: it is a file, as earlier versions had, and a record is a folder now (hint: name another one under record; the outputs know which numbers are taken and how far windows are)", path)
	} else if err != nil {
		return nil, durable.Explain(path, 0, err)
	}
	lock, err := fsys.Lock(filepath.Join(path, lockName))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%s: %w\nhint: one scheduler has the record; wait until it has ended, or end it", path, pipeline.ErrHeld)
	}
	if err != nil {
		return nil, durable.Explain(path, 0, err)
	}
	if err := durable.Sweep(fsys, path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Record{fsys, path, lock}, nil
}

// Close unlocks the record.
func (r *Record) Close() error { return r.lock.Close() }

// path returns the path of a job's file of a kind. It has a digest, since names of jobs may have any
// characters and lengths.
func (r *Record) path(kind, name string) string {
	return filepath.Join(r.folder, kind+"-"+sink.DigestOf([]byte(name))[:32]+".json")
}

// Job returns the state of a job, empty for a new one.
func (r *Record) Job(name string) (*schedule.State, error) {
	known, path := &schedule.State{}, r.path("job", name)
	err := readJSON(r.fs, path, maxState, known)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (hint: it is damaged: restore it from a copy, or remove it; the output of the job knows which numbers are taken)", path, err)
	}
	return known, nil
}

// PutJob replaces the state of a job.
func (r *Record) PutJob(name string, known *schedule.State) error {
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return durable.WriteFile(r.fs, r.path("job", name), text)
}
