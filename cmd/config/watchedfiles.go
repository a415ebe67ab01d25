package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/score"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// watchedFiles says which files are news.
type watchedFiles struct {
	of *Watching

	mu      sync.Mutex
	counted map[string]bool     // files that were counted: their names, and what the state has of them
	digests map[string]string   // of the values of files on their way, by their paths
	known   map[testedFile]bool // of files on their way
	warned  map[string]bool
}

// testedFile is a file as the test of a certificate sees it.
type testedFile struct {
	score.File

	by string // id of the certificate
}

// newWatchedFiles goes on behind those that a state has.
func newWatchedFiles(of *Watching, counted []string) *watchedFiles {
	f := &watchedFiles{of: of, counted: map[string]bool{}, digests: map[string]string{}, known: map[testedFile]bool{}, warned: map[string]bool{}}
	for _, digest := range counted {
		f.note(digest)
	}
	return f
}

// has reports whether a file was counted, or waits for its labels.
func (f *watchedFiles) has(file score.File) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counted[file.Name+" "+file.Digest] || f.of.Delay == 0 {
		return f.counted[file.Name+" "+file.Digest], nil
	}
	info, err := os.Stat(file.Path)
	return err == nil && time.Since(info.ModTime()) < time.Duration(f.of.Delay), err
}

// knownTo reports whether the rows of a file are no news to a certificate.
func (f *watchedFiles) knownTo(ctx context.Context, p score.Piece[ingestlake.StoredColumns]) (func(ingestlake.StoredColumns, int) bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := testedFile{p.File, p.By.ID}
	is, found := f.known[of]
	if !found {
		var err error
		if is, err = f.isKnown(ctx, p.File, p.By); err != nil {
			return nil, err
		}
		f.known[of] = is
	}
	return func(ingestlake.StoredColumns, int) bool { return is }, nil
}

// isKnown compares a file with the time of the pointer, with a file of its name that was counted, and
// with the sample.
func (f *watchedFiles) isKnown(ctx context.Context, file score.File, by *score.Predictor) (bool, error) {
	info, err := os.Stat(file.Path)
	if err != nil {
		return false, err
	}
	res := f.of.scoring().Resources()
	choice := dataset.Choice{Features: by.Model.Meta.Inputs(), Encoded: by.Model.Meta.Encode, Target: by.Model.Meta.Target.Name, Mark: true, Decoders: res.Workers, Pages: res.PageMemory()}
	src, err := ingestlake.Rows{file.Path}.Open(ctx, choice)
	if err != nil {
		return false, by.Model.Meta.Lacks(err)
	}
	digest, err := pipeline.RowsDigest(ctx, src, res.Workers)
	if err != nil {
		return false, err
	}
	f.digests[file.Path] = digest.String()
	switch {
	case f.counted[digest.String()] || info.ModTime().Before(f.of.since(by.ID)):
		return true, nil
	case f.counted[file.Name]: // some of its rows may have been there
		f.warning(file.Path + " was written again since it was counted: its rows are no news (hint: put rows that come into new files)")
		return true, nil
	}
	if choice = choice.WithLabels(by.Certificate.Sample); choice.Labels != nil {
		if src, err = (ingestlake.Rows{file.Path}).Open(ctx, choice); err != nil {
			return false, fmt.Errorf("it is unknown whether its rows are of the sample: %w", err)
		}
	}
	return f.sampled(ctx, src, by, res.Workers)
}

// sampled reports whether rows are those of files of the sample. Without a manifest none are:
// rows-after-model is assumed then.
func (f *watchedFiles) sampled(ctx context.Context, src dataset.Source, by *score.Predictor, workers int) (bool, error) {
	folder, name := f.of.Model.Folder, sinklake.ManifestName(by.ID)
	if f.of.Files.Certificate != "" {
		folder = objects.Dir(f.of.Files.Certificate)
	}
	list, err := sinklake.ReadManifest(f.of.FS, objects.Join(folder, name), by.Certificate, by.ID)
	if folder == "" || errors.Is(err, fs.ErrNotExist) {
		f.warning(fmt.Sprintf("certificate %.12s…: there is no %s next to it, so that files of its sample would be counted as if they came later", by.ID, name))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return list.Holds(ctx, src, workers)
}

// warning gives a warning once.
func (f *watchedFiles) warning(text string) {
	if !f.warned[text] {
		f.warned[text] = true
		f.of.Warned(text)
	}
}

// again reports whether the rows of a file were counted, as those of another one.
func (f *watchedFiles) again(p score.Piece[ingestlake.StoredColumns]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counted[f.digests[p.File.Path]]
}

// count notes a file that was counted whole, and returns what tells it again.
func (f *watchedFiles) count(file score.File) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []string{file.Name + " " + file.Digest}
	if digest := f.digests[file.Path]; digest != "" && !f.counted[digest] {
		all = append(all, digest)
	}
	for _, digest := range all {
		f.note(digest)
	}
	delete(f.digests, file.Path)
	maps.DeleteFunc(f.known, func(of testedFile, _ bool) bool { return of.File == file })
	return all
}

// note notes what the state has of a file: a name and a digest, or a digest of values.
func (f *watchedFiles) note(of string) {
	f.counted[of] = true
	if at := strings.LastIndexByte(of, ' '); at >= 0 {
		f.counted[of[:at]] = true
	}
}
