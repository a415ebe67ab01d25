package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
)

// listSuffix is the ending of a file list that is declared in the place of files.
const listSuffix = ".json"

// IsList reports whether a declared path names a file list.
func IsList(path string) bool { return strings.EqualFold(filepath.Ext(path), listSuffix) }

// listFormat names the form of a file list.
const listFormat = "pacsgp-files/1"

// maxList bounds the bytes of a file list.
const maxList = 256 << 20

// A fileList is an exact list of files, such as a snapshot of a table: docs/job.md.
type fileList struct {
	Format   string   `json:"format"`
	Snapshot string   `json:"snapshot"` // the table's name for this list; or ""
	Files    []*entry `json:"files"`    // in the order of their rows
}

// An entry is a file of a list. Its path is relative to the folder of the list.
type entry struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Rows   *int64 `json:"rows"`   // nil: any
	Footer string `json:"footer"` // SHA-256, hexadecimal; "": any
	SHA256 string `json:"sha256"` // of the whole file, which is read for it; "": any

	list, snapshot string
}

// listed returns the files of a file list, in its order.
func (l *lister) listed(ctx context.Context, path string) ([]string, error) {
	file, err := l.store.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	l.exact = true
	var list fileList
	// Readers differ in which of two equal names they take: this one refuses them.
	err = json.UnmarshalRead(io.NewSectionReader(file, 0, min(file.Size(), maxList)), &list, json.RejectUnknownMembers(true))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("lake: %s is no list of files: %w (hint: see source.files in docs/job.md)", path, err)
	}
	if list.Format != listFormat || len(list.Files) == 0 {
		return nil, fmt.Errorf("lake: %s is no list of files: its format is %q, want %q, with files", path, list.Format, listFormat)
	}
	if list.Snapshot != "" {
		if err := pipeline.CheckSnapshot(list.Snapshot); err != nil {
			return nil, fmt.Errorf("lake: %s: snapshot: %w", path, err)
		}
	}
	found := make([]string, len(list.Files))
	for i, e := range list.Files {
		if e == nil || e.Path == "" || e.Bytes < 1 {
			return nil, fmt.Errorf("lake: %s: file %d of the list has no path or no bytes", path, i+1)
		}
		e.list, e.snapshot = path, list.Snapshot
		at := strings.TrimPrefix(e.Path, "file://")
		if err := oneLine(at); err != nil {
			return nil, err
		}
		if !filepath.IsAbs(at) && !objects.IsAddress(at) {
			at = objects.Join(objects.Dir(path), at)
		}
		info, err := l.store.Stat(ctx, at)
		switch {
		case err != nil:
			return nil, fmt.Errorf("lake: %s lists %s, which cannot be read: %w", path, objects.Shown(at), err)
		case info.Size() != e.Bytes:
			return nil, e.unlike(at, "bytes", info.Size(), e.Bytes)
		}
		found[i], l.entries[at] = at, e
	}
	return found, nil
}

// unlike is the error of a file that is not as it was listed.
func (e *entry) unlike(path, what string, found, want any) error {
	return fmt.Errorf("lake: %s has changed: %s %v, in %s %v (hint: make the list anew)", path, what, found, e.list, want)
}

// check returns an error if the file is not as it was listed. A nil entry lists nothing.
func (e *entry) check(ctx context.Context, from Store, f *dataFile) error {
	switch sum := hex.EncodeToString(f.sum[:]); {
	case e == nil:
		return nil
	case f.size != e.Bytes:
		return e.unlike(f.path, "bytes", f.size, e.Bytes)
	case e.Rows != nil && f.rows != *e.Rows:
		return e.unlike(f.path, "rows", f.rows, *e.Rows)
	case e.Footer != "" && e.Footer != sum:
		return e.unlike(f.path, "footer", sum, e.Footer)
	case e.SHA256 == "":
		return nil
	}
	sum, err := digestOf(ctx, from, f.path)
	if err == nil && sum != e.SHA256 {
		return e.unlike(f.path, "sha256", sum, e.SHA256)
	}
	return err
}

// digestOf is the SHA-256 of a whole file.
func digestOf(ctx context.Context, from Store, path string) (sum string, err error) {
	file, err := from.Open(ctx, path)
	if err != nil {
		return "", fmt.Errorf("lake: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	const piece = 16 << 20
	for at := int64(0); at < file.Size(); at += piece {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if _, err := io.Copy(hash, io.NewSectionReader(file, at, min(piece, file.Size()-at))); err != nil {
			return "", fmt.Errorf("lake: %s: %w", path, err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
