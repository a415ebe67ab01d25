package lake

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

// digested matches the name of a predictions file: stem and digest of the predicted file.
var digested = regexp.MustCompile(`^(.+)-([0-9a-f]{16})\.parquet$`)

func (w *Predictions) index(folder string) error {
	names, err := w.FS.List(folder)
	for _, name := range names {
		if m := digested.FindStringSubmatch(name); m != nil {
			stem := filepath.Join(folder, m[1])
			w.digests[stem] = append(w.digests[stem], m[2])
		}
	}
	return err
}

// replace handles predictions of earlier content of a file whose present content is predicted: if
// Remove is set it removes them, otherwise it warns where they are.
func (w *Predictions) replace(f score.File) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settled[f.Name] == f.Digest {
		return nil
	}
	if stem := stemOf(w.Folder, f); !slices.Contains(w.digests[stem], f.Digest) {
		w.digests[stem] = append(w.digests[stem], f.Digest)
	}
	if earlier := w.earlier(f); len(earlier) > 0 {
		says := "%s was replaced: the predictions of its earlier content stay: %s (hint: replaced: remove removes such)"
		if w.Remove {
			says = "%s was replaced: the predictions of its earlier content are removed: %s"
			if err := w.remove(earlier); err != nil {
				return err
			}
		}
		w.Warn(fmt.Sprintf(says, f.Path, strings.Join(earlier, ", ")))
	}
	w.settled[f.Name] = f.Digest
	return nil
}

// earlier returns the paths of predictions of earlier content of a file. It leaves out predictions
// of other files with the same stem, such as a.arrow next to a.parquet.
func (w *Predictions) earlier(f score.File) (paths []string) {
	stem := stemOf(w.Folder, f)
	for _, digest := range w.digests[stem] {
		path := stem + "-" + digest + ".parquet"
		if digest == f.Digest {
			continue
		}
		of, err := predictedFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process has removed it
		case err != nil:
			w.Warn(fmt.Sprintf("%s stays, for it does not say which file it predicts: %v", path, err))
		case of == f.Name:
			paths = append(paths, path)
		}
	}
	return paths
}

// predictedFile returns the name of the file whose rows a predictions file is about.
func predictedFile(path string) (string, error) {
	file, size, err := durable.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	return sink.PredictedFile(file, size)
}

// remove removes predictions files of one folder, after it has made their replacements durable.
func (w *Predictions) remove(paths []string) error {
	folder := filepath.Dir(paths[0])
	if err := durable.SyncDir(w.FS, folder); err != nil {
		return err
	}
	for _, path := range paths {
		if err := w.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return durable.SyncDir(w.FS, folder)
}
