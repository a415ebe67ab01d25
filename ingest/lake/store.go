package lake

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// A Store is where the files of a lake are. That of the machine is the default; an
// object store is an adapter of this. Paths are those of the job, or are made of them
// and of the names that ReadDir returns; a slash may be at their end. Its methods may be called from several
// goroutines.
type Store interface {
	// Open opens a regular file, and does not wait for what stands there by now: a
	// pipe would be opened only when somebody writes to it.
	Open(path string) (Blob, error)
	// Stat describes a file or folder, whatever links lead to it. Two descriptions
	// of one file may be told apart by their real paths, or by [os.SameFile].
	Stat(path string) (fs.FileInfo, error)
	// ReadDir names what is in a folder.
	ReadDir(path string) ([]fs.DirEntry, error)
	// RealPath names a file or folder the same way however it was reached.
	RealPath(path string) (string, error)
}

// A Blob is a file that is open for reading, at any place, by several goroutines. That it is the same
// one in each reading is seen from its size and its footer.
type Blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// machine is the file system of this machine.
type machine struct{}

var _ Store = machine{}

type machineFile struct {
	*os.File
	size int64
}

// Size returns the number of bytes when the file was opened.
func (f machineFile) Size() int64 { return f.size }

// Open opens a regular file.
func (machine) Open(path string) (Blob, error) {
	f, size, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return machineFile{f, size}, nil
}

// Stat describes what is at the path, or at the end of a link.
func (machine) Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		if to, link := os.Readlink(path); link == nil {
			err = &linkError{to, err}
		}
	}
	return info, err
}

// ReadDir lists a folder.
func (machine) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// RealPath follows all links.
func (machine) RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// A linkError says that what a link leads to cannot be looked at.
type linkError struct {
	to  string
	err error
}

// Error returns the error of looking.
func (e *linkError) Error() string { return e.err.Error() }

// Unwrap returns it.
func (e *linkError) Unwrap() error { return e.err }
