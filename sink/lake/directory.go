package lake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/sign"
)

const (
	lockName         = ".lock"
	checkpointPrefix = "checkpoint-"
)

// A Directory is an output directory that this process alone may write to. Its methods are for
// one goroutine at a time.
type Directory struct {
	fs   durable.FS
	path string
	lock io.Closer
	key  *sign.Key // nil: certificates are not signed
	log  string    // name of the log, if it is another one

	// staged are the models without a certificate, by digest. Their files are whole, durable and
	// hidden.
	staged map[string]*durable.Pending
}

// Open makes the directory if it is absent, locks it, and removes unfinished files of a killed
// job. It returns [pipeline.ErrHeld] while another job works there. A nil FS means [durable.OS].
func Open(path string, fsys durable.FS) (*Directory, error) {
	fsys = objects.FilesOf(fsys, path)
	lock, err := lockIn(fsys, path, lockName, "wait for the other process, or choose another output directory")
	if err != nil {
		return nil, err
	}
	return &Directory{fs: fsys, path: path, lock: lock, staged: map[string]*durable.Pending{}}, nil
}

// lockIn makes a folder if it is absent, takes a lock in it, and removes unfinished files of killed
// processes. The hint is for users while another process has the lock.
func lockIn(fsys durable.FS, folder, name, hint string) (io.Closer, error) {
	if err := fsys.MkdirAll(folder); err != nil {
		return nil, durable.Explain(folder, 0, err)
	}
	lock, err := fsys.Lock(objects.Join(folder, name))
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, fmt.Errorf("lake: %s: %w (hint: %s)", folder, pipeline.ErrHeld, hint)
	case errors.Is(err, fs.ErrNotExist): // MkdirAll accepted the link
		return nil, fmt.Errorf("lake: %s is a link to a folder that does not exist; make it, or choose another output directory", folder)
	case err != nil:
		return nil, durable.Explain(folder, 0, err)
	}
	if err := durable.Sweep(fsys, folder); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// Close removes the models without a certificate, and unlocks the directory. The lock file
// stays: else two jobs could lock two files of one name.
func (d *Directory) Close() error {
	for _, model := range d.staged {
		model.Abort()
	}
	return d.lock.Close()
}

// Path returns the path of an entry of the directory.
func (d *Directory) Path(name string) string { return objects.Join(d.path, name) }

// Put publishes one file under a plain name, and replaces an older one.
func (d *Directory) Put(name string, data []byte) error {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fmt.Errorf("lake: %q is no plain name of a published file", name)
	}
	p, err := d.stage(name, data)
	if p == nil {
		return err
	}
	return p.Commit()
}

// stage writes a hidden file that Commit publishes. It returns nil if the file is published with
// these bytes already.
func (d *Directory) stage(name string, data []byte) (*durable.Pending, error) {
	same, err := d.hasContent(name, data)
	if err != nil {
		return nil, err
	}
	if same {
		return nil, d.sync(name) // a job killed between rename and sync has not done it
	}
	return durable.Stage(d.fs, d.Path(name), data)
}

// sync makes the names in the directory durable. Errors mention name.
func (d *Directory) sync(name string) error {
	if err := durable.SyncDir(d.fs, objects.Dir(d.Path(name))); err != nil {
		return durable.Explain(d.Path(name), 0, err)
	}
	return nil
}

// Remove removes a published file, if there is one, durably.
func (d *Directory) Remove(name string) error {
	names, err := d.fs.List(d.path)
	if err != nil {
		return durable.Explain(d.Path(name), 0, err)
	}
	if !slices.Contains(names, name) {
		return nil
	}
	if err := d.fs.Remove(d.Path(name)); err != nil {
		return durable.Explain(d.Path(name), 0, err)
	}
	return d.sync(name)
}

// hasContent reports whether the file name exists and has exactly these bytes.
func (d *Directory) hasContent(name string, data []byte) (bool, error) {
	f, err := d.fs.Open(d.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lake: read %s: %w", d.Path(name), err)
	}
	same, err := equalContent(f, data)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("lake: read %s: %w", d.Path(name), err)
	}
	return same, nil
}

// equalContent compares a stream with data piece by piece: a model of a hundred megabytes is
// not twice in memory.
func equalContent(r io.Reader, data []byte) (bool, error) {
	buf := make([]byte, 1<<16)
	for {
		n, err := io.ReadFull(r, buf)
		if n > len(data) || !bytes.Equal(buf[:n], data[:n]) {
			return false, nil
		}
		data = data[n:]
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return len(data) == 0, nil
		case err != nil:
			return false, err
		}
	}
}

// readAtMost returns the content of a file. More than limit bytes are an error.
func readAtMost(fsys durable.FS, path string, limit int64) (data []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	return data, err
}

func readJSON(fsys durable.FS, path string, limit int64, to any) error {
	data, err := readAtMost(fsys, path, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
