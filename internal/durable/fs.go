// Package durable writes files that are whole or absent, also after a kill, a full disk or a
// power cut.
//
// Every file is written under a hidden name next to its destination, synced, renamed, and the
// directory synced. A killed process leaves hidden files, which [Sweep] removes.
package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process has the lock, until it gives it back or ends.
var ErrLocked = errors.New("in use by another process")

// FS is the file system that durable publishing needs: [OS], or one in tests that dies or fills
// up at a chosen operation. Names are paths; errors for absent files are fs.ErrNotExist.
type FS interface {
	// MkdirAll makes dir and its parents and makes their existence durable.
	MkdirAll(dir string) error
	// CreateTemp makes a new empty file in dir, named [TempPrefix], random characters and
	// [TempSuffix]. The process has its lock until it closes it.
	CreateTemp(dir string) (File, error)
	Open(name string) (io.ReadCloser, error)
	// Rename replaces newName by oldName in one step.
	Rename(oldName, newName string) error
	Remove(name string) error
	// SyncDir makes the names in dir durable: earlier creations, renames and removals.
	SyncDir(dir string) error
	// List returns the base names in dir in bytewise order.
	List(dir string) ([]string, error)
	// Lock takes the lock of the file name, without waiting, or returns [ErrLocked]. It makes
	// the file if it is absent. Others can read the file all the same. The lock goes with the
	// process, however it dies.
	Lock(name string) (io.Closer, error)
}

// A File is open for writing. Sync makes what was written durable.
type File interface {
	io.WriteCloser
	Name() string
	Sync() error
}

// TempPrefix and TempSuffix enclose the names of files that are not published yet. The leading
// dot hides them from readers of a lake.
const (
	TempPrefix = ".pacsgp-"
	TempSuffix = ".tmp"
)

// temporary is a name that [FS.CreateTemp] gives.
var temporary = regexp.MustCompile("^" + regexp.QuoteMeta(TempPrefix) + "[A-Z2-7]{26}" + regexp.QuoteMeta(TempSuffix) + "$")

// SyncDir makes the names in dir durable where the file system can. Where it cannot no job
// ends: [SyncWarning] tells it beforehand.
func SyncDir(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil && !cannotSync(err) {
		return err
	}
	return nil
}

// cannotSync reports whether a file system has no sync of directories.
func cannotSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// SyncWarning says that the file system cannot promise that published names survive; "" if it
// can.
func SyncWarning(fsys FS, dir string) string {
	if err := fsys.SyncDir(dir); err != nil && cannotSync(err) {
		return fmt.Sprintf("%s: the file system cannot sync a directory (%v): files appear whole or not at all, but one that was just published may be gone after a power cut", dir, err)
	}
	return ""
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

// CreateTemp makes a new hidden file, with the permissions of the user's umask. Its lock tells
// others that it is in use.
func (OS) CreateTemp(dir string) (File, error) {
	for {
		name := filepath.Join(dir, TempPrefix+rand.Text()+TempSuffix)
		f, _, err := openRegular(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
		if err != nil {
			return nil, err
		}
		// Without locks a file is as good: only a job that starts in the same directory can
		// take it for a leftover. Who has the lock has done so, and is about to remove the file.
		locked := lockFile(f)
		if at, err := os.Stat(name); err == nil && !errors.Is(locked, ErrLocked) {
			if own, err := f.Stat(); err == nil && os.SameFile(at, own) {
				return f, nil
			}
		}
		if err := f.Close(); err != nil { // it was taken for a leftover before it was locked
			return nil, err
		}
	}
}

// Open opens a regular file for reading.
func (OS) Open(name string) (io.ReadCloser, error) {
	f, _, err := OpenRegular(name)
	return f, err
}

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

// SyncDir opens the directory and syncs it: on POSIX systems new names survive a power cut by
// that.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // G304: the caller's own directory
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock takes an advisory lock on the whole of file name.
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

// Close gives the lock back, then the file: a process that is being started may have the file
// for an instant, and would have the lock with it.
func (h held) Close() error {
	return errors.Join(unix.Flock(int(h.Fd()), unix.LOCK_UN), h.File.Close())
}

// lockFile takes flock(2), which belongs to the open file: a second job in the same process is
// refused too.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
