package lake

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// A Store is where the files of a lake are: by default the machine; an object store is an
// adapter. Paths are those of the job, and are made of them and of names from ReadDir; they may
// end in a slash. Its methods may be called from several goroutines.
type Store interface {
	// Open opens a regular file, and waits for nothing: a pipe would open only when somebody
	// writes to it.
	Open(path string) (Blob, error)
	// Stat describes a file or folder behind its links. Descriptions of one file are recognised
	// by its real path, or by [os.SameFile].
	Stat(path string) (fs.FileInfo, error)
	// ReadDir names what is in a folder.
	ReadDir(path string) ([]fs.DirEntry, error)
	// RealPath names a file or folder the same way however it was reached.
	RealPath(path string) (string, error)
}

// A Blob is a file that several goroutines may read at any place. Size and footer show that it
// is the same file in each reading.
type Blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

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

// opFollow is the operation of errors of what a link leads to.
const opFollow = "follow link"

// Stat describes what is at the path, or at the end of a link.
func (machine) Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		if to, link := os.Readlink(path); link == nil {
			err = &fs.PathError{Op: opFollow, Path: to, Err: err}
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
