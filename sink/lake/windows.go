package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink"
)

// Names in the output of a stream. A window at work has a folder by a number of this disk, with
// its spool; a published one has one by the number of its certificate.
const (
	openPrefix = "_window-"
	donePrefix = "window-"
)

// Windows are the folders of a stream's windows in a directory, which is there.
type Windows struct {
	fs   durable.FS
	path string
	keep int
}

var (
	_ stream.Folders = (*Windows)(nil)
	_ stream.Folder  = (*windowFolder)(nil)
)

// NewWindows returns those of a directory, in which so many stay whose artifact is published.
func NewWindows(fsys durable.FS, path string, keep int) *Windows {
	return &Windows{fsys, path, keep}
}

// Open is the path of window n while it is at work.
func (w *Windows) Open(n int64) string { return filepath.Join(w.path, openPrefix+numbered(n)) }

// Left are the windows at work.
func (w *Windows) Left() ([]int64, error) { return w.numbers(openPrefix) }

// Folder is the folder of a window at work.
func (w *Windows) Folder(n int64) stream.Folder {
	return &windowFolder{NewOutput(w.Open(n), w.fs), w}
}

// Published reads an artifact of a window that is kept.
func (w *Windows) Published(ctx context.Context, id string) (a stream.Artifact, err error) {
	found, err := filepath.Glob(filepath.Join(w.path, donePrefix+"*", CertificateName(id)))
	if err != nil || len(found) == 0 {
		return a, errors.Join(err, fs.ErrNotExist)
	}
	c, document, err := readCertificate(ctx, w.fs, found[0])
	if err != nil {
		return a, err
	}
	a.Document = document
	path := filepath.Join(filepath.Dir(found[0]), ModelName(c.Model.Digest))
	if a.Model, err = readAtMost(w.fs, path, sink.MaxModelBytes); err == nil && sink.DigestOf(a.Model) != c.Model.Digest {
		err = fmt.Errorf("lake: %s: its SHA-256 is not in its name", path)
	}
	return a, err
}

// numbered is a number in names, whose bytewise order is that of the numbers.
func numbered(n int64) string { return fmt.Sprintf("%012d", n) }

var numberedName = regexp.MustCompile(`^[0-9]{12,}$`)

// numbers are those of the folders of a name, ascending.
func (w *Windows) numbers(prefix string) ([]int64, error) {
	entries, err := os.ReadDir(w.path)
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || !e.IsDir() || !numberedName.MatchString(text) {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all, nil
}

type windowFolder struct {
	out     *Output
	windows *Windows
}

// Output is the folder as an output.
func (f *windowFolder) Output() pipeline.Output { return f.out }

const maxNote = 1 << 20

// Note reads a file.
func (f *windowFolder) Note(name string) (text []byte, where string, err error) {
	where = filepath.Join(f.out.path, name)
	text, err = durable.ReadSmall(where, "a note", maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, where, nil
	}
	return text, where, err
}

// PutNote writes a file.
func (f *windowFolder) PutNote(name string, text []byte) error {
	release, err := f.out.Hold()
	if err != nil {
		return err
	}
	return errors.Join(f.out.Put(name, text), release())
}

// Model decodes a file.
func (f *windowFolder) Model(name string) (m pipeline.Model, digest string, err error) {
	path := filepath.Join(f.out.path, name)
	data, err := readAtMost(f.out.fs, path, sink.MaxModelBytes)
	if err == nil {
		m, err = sink.DecodeModel(data)
	}
	if err != nil {
		return m, "", fmt.Errorf("lake: %s: %w", path, err)
	}
	return m, sink.DigestOf(data), nil
}

// Done renames the folder, durably, and removes the oldest that are done.
func (f *windowFolder) Done(k int64) error {
	w := f.windows
	if err := w.fs.Rename(f.out.path, filepath.Join(w.path, donePrefix+numbered(k))); err != nil {
		return err
	}
	if err := durable.SyncDir(w.fs, w.path); err != nil {
		return err
	}
	kept, err := w.numbers(donePrefix)
	if err != nil {
		return err
	}
	for len(kept) > w.keep {
		if err := os.RemoveAll(filepath.Join(w.path, donePrefix+numbered(kept[0]))); err != nil {
			return err
		}
		kept = kept[1:]
	}
	return nil
}

// Remove removes the folder with all that is in it.
func (f *windowFolder) Remove() error { return os.RemoveAll(f.out.path) }
