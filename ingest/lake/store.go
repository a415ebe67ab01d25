package lake

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/internal/objects"
)

// realPath returns one name for a file or folder, however it was reached. An address has no links.
func realPath(path string) (string, error) {
	if objects.IsAddress(path) {
		return objects.Clean(path), nil
	}
	return filepath.EvalSymlinks(absolute(path))
}

// CheckPath returns an error for an address of another store. It makes no request. shown is the path for messages.
func CheckPath(path string) (shown string, err error) {
	if objects.IsAddress(path) {
		return objects.Shown(path), objects.Check(objects.Clean(path))
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
func ahead(file objects.File, chunks []chunk) []io.ReaderAt {
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
