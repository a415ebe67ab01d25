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
	"github.com/pacsgp/pacsgp/sink/sign"
)

// Names in the output of a stream. The folder of an open window, with its spool, has a number that
// counts on this disk; the folder of a published one has the number of its certificate.
const (
	openPrefix = "_window-"
	donePrefix = "window-"
)

// Windows are the folders of a stream's windows in a directory, which must exist.
type Windows struct {
	fs   durable.FS
	path string
	keep int // number of published windows to keep
	sign sign.KeyFile
}

var (
	_ stream.Folders = (*Windows)(nil)
	_ stream.Folder  = (*windowFolder)(nil)
)

// NewWindows returns the windows of a directory, which keeps so many published ones. Their
// certificates are signed with a key.
func NewWindows(fsys durable.FS, path string, keep int, key sign.KeyFile) *Windows {
	return &Windows{fsys, path, keep, key}
}

// Open returns the path of the open window n.
func (w *Windows) Open(n int64) string { return filepath.Join(w.path, openPrefix+numbered(n)) }

// done returns the path of the published window k.
func (w *Windows) done(k int64) string { return filepath.Join(w.path, donePrefix+numbered(k)) }

// Left returns the numbers of the open windows, ascending.
func (w *Windows) Left() ([]int64, error) { return w.numbers(openPrefix) }

// Folder returns the folder of the open window n.
func (w *Windows) Folder(n int64) stream.Folder {
	out := NewOutput(w.Open(n), w.fs)
	out.Sign = w.sign
	return &windowFolder{out, w}
}

// Published reads the artifact of a kept window: [fs.ErrNotExist] if no kept window has it.
func (w *Windows) Published(ctx context.Context, id string) (a stream.Artifact, err error) {
	kept, err := w.numbers(donePrefix)
	if err != nil {
		return a, err
	}
	for _, k := range kept {
		c, document, err := readCertificate(ctx, w.fs, filepath.Join(w.done(k), CertificateName(id)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return a, err
		}
		a.Document = document
		path := filepath.Join(w.done(k), ModelName(c.Model.Digest))
		if a.Model, err = readAtMost(w.fs, path, sink.MaxModelBytes); err == nil && sink.DigestOf(a.Model) != c.Model.Digest {
			err = fmt.Errorf("lake: %s: its SHA-256 is not in its name", path)
		}
		return a, err
	}
	return a, fs.ErrNotExist
}

// numbered returns a number with twelve digits, so that names sort by it.
func numbered(n int64) string { return fmt.Sprintf("%012d", n) }

var numberedName = regexp.MustCompile(`^[0-9]{12,}$`)

// numbers returns the numbers in the names of folders with this prefix, ascending.
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

// Output returns the folder as an output.
func (f *windowFolder) Output() pipeline.Output { return f.out }

// Note reads a file, nil if there is none, and returns its path.
func (f *windowFolder) Note(name string) ([]byte, string, error) { return f.out.Note(name) }

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

// Done renames the folder durably to that of the published window k, and removes the oldest
// published windows.
func (f *windowFolder) Done(k int64) error {
	w := f.windows
	if err := w.fs.Rename(f.out.path, w.done(k)); err != nil {
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
		if err := os.RemoveAll(w.done(kept[0])); err != nil {
			return err
		}
		kept = kept[1:]
	}
	return nil
}

// Remove removes the folder and its content.
func (f *windowFolder) Remove() error { return os.RemoveAll(f.out.path) }
