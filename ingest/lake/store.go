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

// A store has the files of a lake: those of the machine, and for addresses those of package objects,
// which stay as it has seen them first. Paths are those of the job, or are made from them and names of
// readDir; they may end in a slash. Its methods may be called from several goroutines.
type store struct{ far *objects.View }

func newStore() store { return store{objects.NewView()} }

// open opens a regular file or an object, without blocking: opening a pipe would wait for a writer.
// Reads may end with ctx.
func (s store) open(ctx context.Context, path string) (blob, error) {
	if objects.IsAddress(path) {
		b, err := s.far.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	f, size, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return machineFile{f, size}, nil
}

// stat describes a file or folder, or what is at the end of a link. Two descriptions of one file are
// recognised by its real path, or by [os.SameFile].
func (s store) stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if objects.IsAddress(path) {
		info, err := s.far.Stat(ctx, path)
		if err != nil {
			return nil, err
		}
		return info, nil
	}
	return os.Stat(path)
}

// readDir lists the entries of a folder.
func (s store) readDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	if objects.IsAddress(path) {
		return s.far.ReadDir(ctx, path)
	}
	return os.ReadDir(path)
}

// realPath returns one name for a file or folder, however it was reached. An address has no links.
func (s store) realPath(path string) (string, error) {
	if objects.IsAddress(path) {
		return objects.Clean(path), nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// A blob is an open file that several goroutines may read at any offset. Size and footer show whether
// it is the same file in each reading.
type blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

type machineFile struct {
	*os.File
	size int64
}

// Size returns the number of bytes when the file was opened.
func (f machineFile) Size() int64 { return f.size }

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
func ahead(file blob, chunks []chunk) []io.ReaderAt {
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
