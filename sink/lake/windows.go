package lake

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// openPrefix begins the name of the folder of an open window, with its spool and its log. Its number
// counts on this disk.
const openPrefix = "_window-"

// Windows are the open windows of a stream in a directory, which must exist and is the output of all.
type Windows struct {
	fs   durable.FS
	path string
	sign sign.KeyFile
}

var (
	_ stream.Folders = (*Windows)(nil)
	_ stream.Folder  = windowFolder{}
)

// NewWindows returns the windows of a directory. Their certificates are signed with a key.
func NewWindows(fsys durable.FS, path string, key sign.KeyFile) *Windows {
	return &Windows{fsys, path, key}
}

// Open returns the path of the open window n.
func (w *Windows) Open(n int64) string { return filepath.Join(w.path, openName(n)) }

// openName has twelve digits, so that names sort by the number.
func openName(n int64) string { return fmt.Sprintf("%s%012d", openPrefix, n) }

// Output returns the directory as an output. The log of window n is in its folder: windows share no rows.
func (w *Windows) Output(n int64) pipeline.Output {
	out := NewOutput(w.path, w.fs)
	out.Sign, out.log = w.sign, filepath.Join(openName(n), LogFile)
	return out
}

// Put writes an artifact into an output.
func (w *Windows) Put(ctx context.Context, out pipeline.Output, a stream.Artifact) error {
	c, err := putModel(ctx, out, a)
	if err == nil {
		_, err = out.PutCertificate(ctx, c)
	}
	return err
}

var openNumber = regexp.MustCompile(`^[0-9]{12,}$`)

// Left returns the numbers of the open windows, ascending.
func (w *Windows) Left() ([]int64, error) {
	entries, err := os.ReadDir(w.path)
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), openPrefix)
		if !ok || !e.IsDir() || !openNumber.MatchString(text) {
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

// Folder returns the folder of the open window n.
func (w *Windows) Folder(n int64) stream.Folder { return windowFolder{w.fs, w.Open(n)} }

type windowFolder struct {
	fs   durable.FS
	path string
}

// Note reads a file, nil if there is none, and returns its path.
func (f windowFolder) Note(name string) (text []byte, where string, err error) {
	return readNote(f.fs, f.path, name)
}

// PutNote writes a file.
func (f windowFolder) PutNote(name string, text []byte) error {
	if err := f.fs.MkdirAll(f.path); err != nil {
		return err
	}
	return durable.WriteFile(f.fs, filepath.Join(f.path, name), text)
}

// Remove removes the folder and its content.
func (f windowFolder) Remove() error { return os.RemoveAll(f.path) }
