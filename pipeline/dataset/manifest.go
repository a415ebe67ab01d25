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

	// Modified is when the file was written. Run records have it, because files with different values can have the
	// same Arrow footer. Manifests leave it out, so that they are the same on all machines.
	Modified *time.Time `json:"modified,omitempty"`
}

// A ManifestShard is a row group that has rows.
type ManifestShard struct {
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

// ListedFile returns the file's entry of a manifest, without its shards. The path is relative to a folder, except for
// an object of a store.
func (f File) ListedFile(folder string) ManifestFile {
	path := f.Path
	if base, err := filepath.Abs(folder); err == nil && !strings.Contains(path, "://") { // an object keeps its whole address
		if whole, err := filepath.Abs(path); err == nil {
			if short, err := filepath.Rel(base, whole); err == nil {
				path = short
			}
		}
	}
	return ManifestFile{filepath.ToSlash(path), f.Bytes, f.Rows, hex.EncodeToString(f.Footer[:]), []ManifestShard{}, nil}
}

// WithLabels returns the choice with the sample's columns between features and target as labels: those of units and
// groups, whose digests a manifest holds too.
func (c Choice) WithLabels(sample certify.Sample) Choice {
	if first, last := len(c.Features), len(sample.Columns)-1; first < last {
		c.Labels = sample.Columns[first:last]
	}
	return c
}
