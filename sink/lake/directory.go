package lake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
)

// lockIn makes a folder if it is absent, locks a file in it, and removes unfinished files of killed
// processes. If another process has the lock, the error has the hint.
func lockIn(fsys durable.FS, folder, name, hint string) (io.Closer, error) {
	if err := fsys.MkdirAll(folder); err != nil {
		return nil, durable.Explain(folder, 0, err)
	}
	lock, err := fsys.Lock(objects.Join(folder, name))
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, fmt.Errorf("%s: %w (hint: %s)", folder, pipeline.ErrHeld, hint)
	case errors.Is(err, fs.ErrNotExist): // MkdirAll accepts a link to a missing folder
		return nil, fmt.Errorf("%s is a link to a folder that does not exist; make it, or choose another output directory", folder)
	case err != nil:
		return nil, durable.Explain(folder, 0, err)
	}
	if err := durable.Sweep(fsys, folder); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// Path returns the path of an entry of the directory.
func (o *Output) Path(name string) string { return objects.Join(o.path, name) }

// Put publishes a file and replaces an older one. The name must not begin with "." or "_".
func (o *Output) Put(name string, data []byte) error {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fmt.Errorf("%q is no plain name of a published file", name)
	}
	p, err := o.stage(name, data)
	if p == nil {
		return err
	}
	return p.Commit()
}

// stage writes a hidden file, to be published by its Commit. It returns nil if the published file
// already has these bytes.
func (o *Output) stage(name string, data []byte) (*durable.Pending, error) {
	same, err := o.hasContent(name, data)
	if err != nil {
		return nil, err
	}
	if same {
		return nil, o.sync(name) // a job killed between rename and sync has not synced it
	}
	return durable.Stage(o.fs, o.Path(name), data)
}

// sync makes changes to the directory's entries durable. Its errors have the path of name.
func (o *Output) sync(name string) error {
	if err := durable.SyncDir(o.fs, objects.Dir(o.Path(name))); err != nil {
		return durable.Explain(o.Path(name), 0, err)
	}
	return nil
}

// Remove durably removes a published file. It is no error if the file does not exist.
func (o *Output) Remove(name string) error {
	names, err := o.fs.List(o.path)
	if err != nil {
		return durable.Explain(o.Path(name), 0, err)
	}
	if !slices.Contains(names, name) {
		return nil
	}
	if err := o.fs.Remove(o.Path(name)); err != nil {
		return durable.Explain(o.Path(name), 0, err)
	}
	return o.sync(name)
}

// hasContent reports whether the file name exists and has exactly these bytes.
func (o *Output) hasContent(name string, data []byte) (bool, error) {
	f, err := o.fs.Open(o.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	sum := ""
	if err == nil {
		sum, err = digestOf(f)
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", o.Path(name), err)
	}
	return sum == digest.Of(data), nil
}

// digestOf returns the SHA-256 of the content of a file, and closes it.
func digestOf(f io.ReadCloser) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
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
	if err == nil {
		data, err = digest.Unseal(data)
	}
	if err != nil {
		return err
	}
	return certify.Unmarshal(data, to)
}
