package lake

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked says that another process has the lock. A retry helps when that
// process has given it back or has ended.
var ErrLocked = errors.New("lake: in use by another process")

// FS is what durable publishing asks of a file system. [OS] is the real one;
// tests substitute one that dies or fills up at a chosen operation.
//
// Names are paths; a file that does not exist is an error that
// errors.Is(err, fs.ErrNotExist).
type FS interface {
	// MkdirAll makes dir and its parents and makes their existence durable.
	MkdirAll(dir string) error
	// CreateTemp makes a new empty file in dir under a name that no other
	// file has, that starts with a dot and ends in [TempSuffix].
	CreateTemp(dir, base string) (File, error)
	// Append opens a file for appending and makes it if it is absent.
	Append(name string) (File, error)
	Open(name string) (io.ReadCloser, error)
	// Truncate cuts a file to its first size bytes. The next Sync of the file
	// makes it durable.
	Truncate(name string, size int64) error
	// Rename replaces newName by oldName in one step.
	Rename(oldName, newName string) error
	Remove(name string) error
	// SyncDir makes the names in dir durable: what was created, renamed or
	// removed there before the call.
	SyncDir(dir string) error
	// List returns the base names in dir in bytewise order.
	List(dir string) ([]string, error)
	// Lock takes the lock of the file name, which it makes if it is absent, for
	// this process, without waiting, or returns [ErrLocked]. Who has not the
	// lock can read the file all the same. The lock goes with the process,
	// however it dies.
	Lock(name string) (io.Closer, error)
}

// A File is open for writing. Sync makes what was written durable.
type File interface {
	io.WriteCloser
	Name() string
	Sync() error
}

// TempSuffix ends the name of every file that is not yet published. Together
// with the leading dot it hides the file from readers of a lake.
const TempSuffix = ".tmp"

var errNotRegular = errors.New("it is no regular file")

// OS is the operating system's file system.
type OS struct{}

var _ FS = OS{}

// MkdirAll makes dir and its missing parents and syncs the parent of each.
func (o OS) MkdirAll(dir string) error {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("a file of this name is in the way")}
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := o.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // G301: artifacts are published for others to read
		return err
	}
	return o.SyncDir(parent)
}

// CreateTemp makes a new hidden file beside the one that it will become, with
// the permissions that the user's umask leaves.
func (OS) CreateTemp(dir, base string) (File, error) {
	name := filepath.Join(dir, "."+base+"."+rand.Text()+TempSuffix)
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // G302, G304: what is published is for others to read
}

// Append opens name for appending.
func (OS) Append(name string) (File, error) {
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // G302, G304: the caller's own directory, for others to read
}

// Open opens name for reading. What is no regular file is refused: a pipe would
// keep the job waiting.
func (OS) Open(name string) (io.ReadCloser, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	return os.Open(name) //nolint:gosec // G304: the caller's own directory
}

// Truncate cuts a file.
func (OS) Truncate(name string, size int64) error { return os.Truncate(name, size) }

// Rename replaces newName by oldName.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Remove removes one file.
func (OS) Remove(name string) error { return os.Remove(name) }

// List returns the base names in dir.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Lock takes an advisory lock on the whole of file name.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // G302, G304: the caller's own directory, shared with other users' jobs
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err == nil {
		err = lockFile(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lake: lock %s: %w", name, err), f.Close())
	}
	return f, nil
}
