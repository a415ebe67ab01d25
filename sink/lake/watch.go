package lake

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A Watched is the state of a watch in a folder, locked by one process.
type Watched struct {
	fs   durable.FS
	path string
	lock io.Closer
}

var _ watch.Store = (*Watched)(nil)

// OpenWatch locks and reads the state in a folder until Close. A missing folder is made, and its
// state is empty; the folder may be an output. OpenWatch returns [pipeline.ErrHeld] while another
// process has the lock. A nil FS means [durable.OS].
func OpenWatch(folder string, fsys durable.FS) (w *Watched, s *watch.State, err error) {
	w = &Watched{fs: cmp.Or[durable.FS](fsys, durable.OS{}), path: filepath.Join(folder, watch.StateFile)}
	w.lock, err = lockIn(w.fs, folder, ".watch.lock", "another process counts there; end it, or name another folder for the state")
	if err != nil {
		return nil, nil, err
	}
	if s, err = ReadWatch(w.fs, folder); err != nil {
		err = fmt.Errorf("%s: %w (hint: it is damaged: restore it from a copy, or count again in another folder)", w.path, err)
		return nil, nil, errors.Join(err, w.lock.Close())
	}
	return w, s, nil
}

// ReadWatch reads the state of a watch in a folder: an empty one if there is none.
func ReadWatch(fsys durable.FS, folder string) (*watch.State, error) {
	text, err := readAtMost(fsys, filepath.Join(folder, watch.StateFile), maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return &watch.State{Format: watch.Format}, nil
	}
	if err != nil {
		return nil, err
	}
	return watch.Parse(text)
}

// Put replaces the state.
func (w *Watched) Put(s *watch.State) error {
	text, err := s.Text()
	if err != nil {
		return err
	}
	return Full("counts", w.path, durable.WriteFile(w.fs, w.path, text))
}

// Close unlocks the folder.
func (w *Watched) Close() error { return w.lock.Close() }
