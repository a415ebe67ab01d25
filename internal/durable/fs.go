// Package durable writes files that appear whole or not at all, even after a kill, a full disk or a power cut.
//
// Every file is written under a hidden name next to its destination, synced and renamed; then the
// directory is synced. A killed process leaves hidden files, which [Sweep] removes.
package durable

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another process has the lock. It may succeed later.
var ErrLocked = errors.New("in use by another process")

// FS is a file system that can publish durably: [OS], or one for tests that fails at a chosen
// operation. Names are paths. The error for an absent file is fs.ErrNotExist.
type FS interface {
	// MkdirAll makes dir and its missing parents, all durably.
	MkdirAll(dir string) error
	// CreateTemp creates an empty file in dir, named [TempPrefix], random characters, [TempSuffix].
	// The process has its lock until it closes the file.
	CreateTemp(dir string) (File, error)
	Open(name string) (io.ReadCloser, error)
	// Rename atomically renames oldName to newName, which it replaces.
	Rename(oldName, newName string) error
	Remove(name string) error
	// SyncDir makes earlier creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// List returns the base names in dir in bytewise order.
	List(dir string) ([]string, error)
	// Lock takes the lock of file name and creates the file if it is absent. It does not wait: it returns [ErrLocked]
	// if another process has the lock. The lock does not prevent reading. It ends with the process, even after a kill.
	Lock(name string) (io.Closer, error)
}

// A File is open for writing. Sync makes what was written durable.
type File interface {
	io.WriteCloser
	Name() string
	Sync() error
}

// TempPrefix and TempSuffix begin and end the names of unpublished files. The leading dot hides
// these files from readers of a lake.
const (
	TempPrefix = ".pacsgp-"
	TempSuffix = ".tmp"
)

// temporary matches the names from [FS.CreateTemp].
var temporary = regexp.MustCompile("^" + regexp.QuoteMeta(TempPrefix) + "[A-Z2-7]{26}" + regexp.QuoteMeta(TempSuffix) + "$")

// SyncDir makes the entries of dir durable if the file system can. If it cannot, that is no error: what was just
// published may be gone after a power cut.
func SyncDir(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

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
	return SyncDir(o, parent)
}

// CreateTemp creates a hidden file with the permissions of the user's umask. Its lock shows others that it is in use.
func (OS) CreateTemp(dir string) (File, error) {
	for {
		name := filepath.Join(dir, TempPrefix+rand.Text()+TempSuffix)
		f, _, err := openRegular(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
		if err != nil {
			return nil, err
		}
		// Without locks, only a job that starts in the same directory could mistake the file for a
		// leftover. If that job has the lock, it is about to remove the file.
		locked := lockFile(f)
		if at, err := os.Stat(name); err == nil && !errors.Is(locked, ErrLocked) {
			if own, err := f.Stat(); err == nil && os.SameFile(at, own) {
				return f, nil
			}
		}
		if err := f.Close(); err != nil { // another process removed it before it was locked
			return nil, err
		}
	}
}

// Open opens a regular file for reading.
func (OS) Open(name string) (io.ReadCloser, error) {
	f, _, err := OpenRegular(name)
	return f, err
}

// Rename renames oldName to newName, which it replaces.
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

// SyncDir opens the directory and syncs it, which on POSIX systems makes new names survive a power cut.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // G304: the caller's own directory
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock takes an advisory lock of the whole file.
func (OS) Lock(name string) (io.Closer, error) {
	f, _, err := openRegular(name, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
	return held{f}, nil
}

type held struct{ *os.File }

// Close unlocks before it closes the file: a process that is just being started may share the open
// file for an instant, and would keep the lock.
func (h held) Close() error {
	return errors.Join(unix.Flock(int(h.Fd()), unix.LOCK_UN), h.File.Close())
}

// lockFile takes flock(2), which belongs to the open file: it also excludes a second job in the same process.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
