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

// openPrefix begins the folder name of an open window, which has its spool. The number
// after it counts windows on this disk.
const openPrefix = "_window-"

// Windows are the open windows of a stream. They share one directory, which must exist, as output.
type Windows struct {
	FS   durable.FS
	Path string
	Sign sign.KeyFile // signs the certificates
}

var (
	_ stream.Folders = (*Windows)(nil)
	_ stream.Folder  = windowFolder{}
)

// Open returns the path of the folder of open window n.
func (w *Windows) Open(n int64) string { return filepath.Join(w.Path, openName(n)) }

// openName returns the folder name of window n, with twelve digits so that names sort by number.
func openName(n int64) string { return fmt.Sprintf("%s%012d", openPrefix, n) }

// mostLogged is how many entries of each list the log of a stream keeps: it must not grow for ever.
const mostLogged = 1000

// Output returns the output of all windows.
func (w *Windows) Output() pipeline.Output {
	out := NewOutput(w.Path, w.FS)
	out.Sign, out.logged = w.Sign, mostLogged
	return out
}

// Put writes the model and the certificate of an artifact into an output.
func (w *Windows) Put(ctx context.Context, out pipeline.Output, a stream.Artifact) error {
	c, err := putModel(ctx, out, a)
	if err == nil {
		_, err = out.PutCertificate(ctx, c)
	}
	return err
}

// Left returns the numbers of the open windows in ascending order.
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

// A windowFolder is the folder of one window. It reads notes as an [Output] does.
type windowFolder struct{ *Output }

// PutNote writes a note and makes the folder if it is absent.
func (f windowFolder) PutNote(name string, text []byte) error {
	if err := f.fs.MkdirAll(f.path); err != nil {
		return err
	}
	return durable.WriteFile(f.fs, f.Path(name), text)
}

func (f windowFolder) Remove() error { return os.RemoveAll(f.path) }
