package dataset

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// A ManifestFile is a file of a sample.
type ManifestFile struct {
	Path   string          `json:"path"` // relative to the folder of the job file, if possible
	Bytes  int64           `json:"bytes"`
	Rows   int64           `json:"rows"`
	Footer string          `json:"footer"` // SHA-256
	Shards []ManifestShard `json:"shards"` // the row groups that have rows

	// Modified is when the file was written. Run records have it, because two files can have
	// the same footer: footers of Arrow say nothing of values. Manifests leave it out, to be
	// the same on all machines.
	Modified *time.Time `json:"modified,omitempty"`
}

// A ManifestShard is a row group that has rows.
type ManifestShard struct {
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

// ListedFile describes the file as a manifest does, without its shards: its path is relative
// to a folder.
func (f File) ListedFile(folder string) ManifestFile {
	path := f.Path
	if base, err := filepath.Abs(folder); err == nil && !strings.Contains(path, "://") { // the address of an object is whole
		if whole, err := filepath.Abs(path); err == nil {
			if short, err := filepath.Rel(base, whole); err == nil {
				path = short
			}
		}
	}
	return ManifestFile{filepath.ToSlash(path), f.Bytes, f.Rows, hex.EncodeToString(f.Footer[:]), []ManifestShard{}, nil}
}

// WithLabels is a choice of a model's inputs and its target with all columns of its sample: those of
// units and groups too, of which a manifest has digests.
func (c Choice) WithLabels(of certify.Sample) Choice {
	if first, last := len(c.Features), len(of.Columns)-1; first < last {
		c.Labels = of.Columns[first:last]
	}
	return c
}
