package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

type storedColumns = score.Columns[parquet.Node, parquet.Value]

var _ score.Writer[storedColumns] = (*Predictions)(nil)

// Predictions writes the predictions of each file to a file, whole or not at all. It has no other
// record of progress: a file is done if its predictions exist.
type Predictions struct {
	FS     durable.FS
	Folder string // locked by the caller
	About  *About
	// Remove says whether predictions of a file's earlier content are removed once those of its
	// present content are durable.
	Remove bool
	Warn   func(text string) // called with a sentence about each file that was replaced

	mu      sync.Mutex
	swept   map[string]bool     // folders that sweep has cleaned and indexed
	digests map[string][]string // digests of predicted files, by stem of their predictions
	settled map[string]string   // by name: digest of a file whose earlier predictions replace has dealt with
}

// PredictionsOf returns the path, in a folder, of the predictions of a file. The path follows from
// the file's own path and content.
func PredictionsOf(folder string, f score.File) string {
	return stemOf(folder, f) + "-" + f.Digest + ".parquet"
}

// stemOf is [PredictionsOf] without the digest of the content and the extension.
func stemOf(folder string, f score.File) string {
	name := f.Name
	for strings.HasPrefix(name, "../") {
		name = name[len("../"):]
	}
	name = strings.TrimPrefix(strings.ReplaceAll(name, ":", ""), "/")
	return filepath.Join(folder, filepath.FromSlash(strings.TrimSuffix(name, path.Ext(name))))
}

// Has reports whether the predictions of a file exist. If so, and if Remove is set, it also removes
// predictions of earlier content that a killed process has left.
func (w *Predictions) Has(f score.File) (bool, error) {
	to := PredictionsOf(w.Folder, f)
	_, err := os.Stat(to)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && w.Remove {
		if err = w.sweep(filepath.Dir(to)); err == nil {
			err = w.replace(f)
		}
		err = unwritten(w.Folder, err)
	}
	return err == nil, err
}

// Pack writes the predictions of a file and publishes them.
func (w *Predictions) Pack(ctx context.Context, p score.Piece[storedColumns]) (_ func(context.Context) error, n score.Counts, err error) {
	to := PredictionsOf(w.Folder, p.File)
	if err := w.sweep(filepath.Dir(to)); err != nil {
		return nil, n, unwritten(w.Folder, err)
	}
	var file *durable.Pending
	var out *sink.Predictions
	defer func() {
		if file != nil {
			file.Abort()
		}
	}()
	err = p.Predict(ctx, func(batch []pipeline.Prediction, extra storedColumns) (err error) {
		if file == nil { // not before the first rows are read
			if file, err = durable.Create(w.FS, to); err != nil {
				return unwritten(w.Folder, err)
			}
			keep := make([]sink.Kept, len(extra.Names))
			for c := range keep {
				keep[c] = sink.Kept{Name: extra.Names[c], Node: extra.Types[c]}
			}
			out = sink.NewPredictions(file, pipeline.CarriedID(p.By.Certificate, p.By.ID, certify.PredictorMean), keep...)
			out.Of(p.File.Name)
		}
		n = n.Plus(score.Count(batch))
		if err := out.Write(batch, extra.Values...); err != nil {
			return unwritten(w.Folder, err)
		}
		return nil
	})
	if err != nil {
		return nil, n, err
	}
	for _, step := range []func() error{out.Close, func() error { return w.About.keep(p.By.Certificate) }, file.Commit, func() error { return w.replace(p.File) }} {
		if err := step(); err != nil {
			return nil, n, unwritten(w.Folder, err)
		}
	}
	return nil, n, nil
}

// Commit has nothing to do: Pack publishes.
func (w *Predictions) Commit(context.Context) error { return nil }

// sweep prepares a folder for predictions once: it makes the folder, removes unfinished files of
// killed processes, and indexes the finished ones.
func (w *Predictions) sweep(folder string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.swept[folder] {
		return nil
	}
	if w.swept == nil {
		w.swept, w.digests, w.settled = map[string]bool{}, map[string][]string{}, map[string]string{}
	}
	if err := w.FS.MkdirAll(folder); err != nil {
		return err
	}
	if err := durable.Sweep(w.FS, folder); err != nil {
		return err
	}
	if err := w.index(folder); err != nil {
		return err
	}
	w.swept[folder] = true
	return nil
}

// ErrFull means that the disk of a folder for predictions or counts is full.
var ErrFull = errors.New("the disk is full")

// Full returns an [ErrFull] if err means a full disk, otherwise err. It names the path and says what cannot be written.
func Full(what, path string, err error) error {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, full) {
			return fmt.Errorf("%s cannot be written, for %w: %s: %w", what, ErrFull, path, full)
		}
	}
	return err
}

// unwritten marks an error of writing to a folder as temporary ([score.Later]).
func unwritten(folder string, err error) error {
	full := Full("predictions", folder, err)
	if err != nil && !errors.Is(full, ErrFull) {
		full = fmt.Errorf("predictions cannot be written: %w", err)
	}
	return score.Later(full)
}
