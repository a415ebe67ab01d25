package lake

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// A Store has the files of a lake: by default it is the machine's file system; an object store is an
// adapter. Paths are those of the job, or are made from them and names of ReadDir; they may end in a
// slash. Its methods may be called from several goroutines.
type Store interface {
	// Open opens a regular file without blocking: opening a pipe would wait for a writer.
	Open(path string) (Blob, error)
	// Stat describes a file or folder and follows links. Two descriptions of one file are recognised
	// by its real path, or by [os.SameFile].
	Stat(path string) (fs.FileInfo, error)
	// ReadDir lists the entries of a folder.
	ReadDir(path string) ([]fs.DirEntry, error)
	// RealPath returns one name for a file or folder, however it was reached.
	RealPath(path string) (string, error)
}

// A Blob is an open file that several goroutines may read at any offset. Size and footer show whether
// it is the same file in each reading.
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

// opFollow is the operation in errors of following a link.
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
