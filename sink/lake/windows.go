package lake

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
	FS   durable.FS
	Path string
	Sign sign.KeyFile // of the certificates
}

var (
	_ stream.Folders = (*Windows)(nil)
	_ stream.Folder  = windowFolder{}
)

// Open returns the path of the open window n.
func (w *Windows) Open(n int64) string { return filepath.Join(w.Path, openName(n)) }

// openName has twelve digits, so that names sort by the number.
func openName(n int64) string { return fmt.Sprintf("%s%012d", openPrefix, n) }

// Output returns the directory as an output. The log of window n is in its folder: windows share no rows.
func (w *Windows) Output(n int64) pipeline.Output {
	out := NewOutput(w.Path, w.FS)
	out.Sign, out.log = w.Sign, filepath.Join(openName(n), LogFile)
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

// Left returns the numbers of the open windows, ascending.
func (w *Windows) Left() ([]int64, error) {
	entries, err := os.ReadDir(w.Path)
	var all []int64
	for _, e := range entries {
		var n int64
		if _, fault := fmt.Sscanf(e.Name(), openPrefix+"%d", &n); fault == nil && n >= 0 && e.IsDir() && e.Name() == openName(n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

// Folder returns the folder of the open window n.
func (w *Windows) Folder(n int64) stream.Folder { return windowFolder{NewOutput(w.Open(n), w.FS)} }

// A windowFolder reads notes as an output does.
type windowFolder struct{ *Output }

// PutNote writes a file.
func (f windowFolder) PutNote(name string, text []byte) error {
	if err := f.fs.MkdirAll(f.path); err != nil {
		return err
	}
	return durable.WriteFile(f.fs, f.Path(name), text)
}

// Remove removes the folder and its content.
func (f windowFolder) Remove() error { return os.RemoveAll(f.path) }
