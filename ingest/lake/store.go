package lake

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
)

// A Store has the files of a lake: by default those of the machine, and for addresses those of package
// objects. Paths are those of the job, or are made from them and names of ReadDir; they may end in a
// slash. Its methods may be called from several goroutines.
type Store interface {
	// Open opens a regular file without blocking: opening a pipe would wait for a writer. Reads may
	// end with ctx.
	Open(ctx context.Context, path string) (Blob, error)
	// Stat describes a file or folder and follows links. Two descriptions of one file are recognised
	// by its real path, or by [os.SameFile].
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	// ReadDir lists the entries of a folder.
	ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error)
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

// anywhere is the store of local paths and of addresses. Objects stay as it has seen them first.
type anywhere struct {
	machine

	far *objects.View
}

var _ Store = anywhere{}

func newStore() Store { return anywhere{far: objects.NewView()} }

// Open opens a file or an object.
func (a anywhere) Open(ctx context.Context, path string) (Blob, error) {
	if !objects.IsAddress(path) {
		return a.machine.Open(ctx, path)
	}
	blob, err := a.far.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return blob, nil
}

// Stat describes what is at a path or an address.
func (a anywhere) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if !objects.IsAddress(path) {
		return a.machine.Stat(ctx, path)
	}
	info, err := a.far.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// ReadDir lists a folder.
func (a anywhere) ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	if !objects.IsAddress(path) {
		return a.machine.ReadDir(ctx, path)
	}
	return a.far.ReadDir(ctx, path)
}

// RealPath follows the links of a path; an address has none.
func (a anywhere) RealPath(path string) (string, error) {
	if !objects.IsAddress(path) {
		return a.machine.RealPath(path)
	}
	return objects.Clean(path), nil
}

// CheckPath returns an error for a declared path that cannot be read, wherever its files are: an
// address of another store, or a malformed pattern. It makes no request. shown is the path for
// messages.
func CheckPath(path string) (shown string, err error) {
	if objects.IsAddress(path) {
		return objects.Shown(path), objects.Check(objects.Clean(path))
	}
	if _, err := os.Stat(path); malformed(path, err) {
		return path, errors.New(wantPattern)
	}
	return path, nil
}

// unchanged reports whether two descriptions are of one file, which was not written in between.
func unchanged(a, b fs.FileInfo) bool {
	x, far := a.(*objects.Info)
	if y, too := b.(*objects.Info); far && too {
		return x.Tag() == y.Tag() && x.Size() == y.Size()
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// ahead returns readers of the pages of chunks, which are read at the same time.
func ahead(file Blob, chunks []chunk) []io.ReaderAt {
	far, ok := file.(*objects.Blob)
	if !ok {
		return slices.Repeat([]io.ReaderAt{file}, len(chunks))
	}
	parts := make([]objects.Part, len(chunks))
	for i, ch := range chunks {
		parts[i] = objects.Part{Start: ch.start, End: ch.end}
	}
	return far.Parts(parts)
}

type machine struct{}

type machineFile struct {
	*os.File
	size int64
}

// Size returns the number of bytes when the file was opened.
func (f machineFile) Size() int64 { return f.size }

// Open opens a regular file.
func (machine) Open(_ context.Context, path string) (Blob, error) {
	f, size, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return machineFile{f, size}, nil
}

// opFollow is the operation in errors of following a link.
const opFollow = "follow link"

// Stat describes what is at the path, or at the end of a link.
func (machine) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		if to, link := os.Readlink(path); link == nil {
			err = &fs.PathError{Op: opFollow, Path: to, Err: err}
		}
	}
	return info, err
}

// ReadDir lists a folder.
func (machine) ReadDir(_ context.Context, path string) ([]fs.DirEntry, error) {
	return os.ReadDir(path)
}

// RealPath follows all links.
func (machine) RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
