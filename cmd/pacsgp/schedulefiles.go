package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/cmd/config"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A laked file is one of a lake: as a manifest describes it, and where it is.
type lakedFile struct {
	pipeline.ManifestFile
	path string
}

// key is what makes a file the same one later.
func (f lakedFile) key() string {
	written := ""
	if f.Modified != nil {
		written = f.Modified.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s", f.Path, f.Bytes, f.Footer, written)
}

// lakeNow lists the files of a job's lake, by their footers.
func (j *scheduled) lakeNow(ctx context.Context) ([]lakedFile, error) {
	paths := j.prepared.Source.(config.Lake) // as suits has seen to
	files, _, err := ingestlake.Files(ctx, paths)
	if err != nil {
		return nil, err
	}
	all := make([]lakedFile, len(files))
	for i, f := range files {
		all[i] = lakedFile{f.Listed(j.prepared.Folder), f.Path}
		all[i].Modified = &f.Modified
	}
	return all, nil
}

// chosen are the files that a run at this moment takes of the lake. Those that the run
// before took come first, in its order, and what has come since behind them, wherever it
// stands in the lake: so a row that both samples have keeps its ordinal, and with it
// its place among the hold-out rows, as long as no earlier file goes.
func (j *scheduled) chosen(ctx context.Context, all []lakedFile, before []pipeline.ManifestFile, taken []bool, moment time.Time) ([]lakedFile, error) {
	var some []lakedFile
	for i, f := range all {
		wanted := true
		switch j.Files.Which {
		case config.FilesNew:
			wanted = !taken[i]
		case config.FilesLast:
			until, err := j.until(ctx, f)
			if err != nil {
				return nil, err
			}
			wanted = until.After(moment.Add(-time.Duration(j.Files.Last)))
		}
		if wanted {
			some = append(some, f)
		}
	}
	place := map[string]int{}
	for i, f := range some {
		place[f.key()] = i
	}
	var ordered []lakedFile
	for _, f := range before {
		if i, ok := place[lakedFile{ManifestFile: f}.key()]; ok {
			ordered = append(ordered, some[i])
			delete(place, some[i].key())
		}
	}
	for _, f := range some {
		if _, ok := place[f.key()]; ok {
			ordered = append(ordered, f)
		}
	}
	return ordered, nil
}

// until is the time of the latest row that a file can have: the end of the day or month
// in its path, or the largest value of the column by its footer.
func (j *scheduled) until(ctx context.Context, f lakedFile) (time.Time, error) {
	if j.Files.Key != "" {
		for part := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(f.path)), "/") {
			name, value, _ := strings.Cut(part, "=")
			if name != j.Files.Key {
				continue
			}
			for _, form := range []struct {
				text         string
				months, days int
			}{{"2006-01-02", 0, 1}, {"20060102", 0, 1}, {"2006-01", 1, 0}} {
				if at, err := time.Parse(form.text, value); err == nil {
					return at.AddDate(0, form.months, form.days), nil
				}
			}
			return time.Time{}, fmt.Errorf("%s: %s=%s is no date: want one as in 2026-01-31, 20260131 or 2026-01", f.path, name, value)
		}
		return time.Time{}, fmt.Errorf("%s: its path has no key %s", f.path, j.Files.Key)
	}
	src, err := ingestlake.Open(ctx, ingestlake.Config{Paths: []string{f.path}, Features: []string{j.Files.Column}})
	if err != nil {
		return time.Time{}, err
	}
	found, err := src.Told(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if len(found) != 1 || !(math.Abs(found[0].Most) < 1e11) {
		return time.Time{}, fmt.Errorf("%s: its footer does not tell the largest value of %q, seconds since 1970", f.path, j.Files.Column)
	}
	return time.Unix(int64(math.Ceil(found[0].Most)), 0), nil
}

// manifested are files as a manifest describes them.
func manifested(files []lakedFile) []pipeline.ManifestFile {
	all := make([]pipeline.ManifestFile, len(files))
	for i, f := range files {
		all[i] = f.ManifestFile
	}
	return all
}

// hexOf is the SHA-256 of some bytes, in hexadecimal.
func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digestOf names a list of files.
func digestOf(files []pipeline.ManifestFile) string {
	text, _ := json.Marshal(files) // texts and numbers
	return hexOf(text)
}

// rowsOfFiles adds up the rows of files.
func rowsOfFiles(files []pipeline.ManifestFile) (n int64) {
	for _, f := range files {
		n += f.Rows
	}
	return n
}

// newSince are the files that a list does not have.
func newSince(all []lakedFile, before []pipeline.ManifestFile) []pipeline.ManifestFile {
	known := map[string]bool{}
	for _, f := range before {
		known[lakedFile{ManifestFile: f}.key()] = true
	}
	var some []pipeline.ManifestFile
	for _, f := range all {
		if !known[f.key()] {
			some = append(some, f.ManifestFile)
		}
	}
	return some
}
