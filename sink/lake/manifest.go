package lake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
)

// maxManifest bounds a manifest.
const maxManifest = 256 << 20

// ManifestName is the name of a certificate's manifest, which lies beside it.
func ManifestName(id string) string { return "manifest-" + id + ".json" }

// PutManifest writes a manifest beside its certificate.
func (o *Output) PutManifest(m pipeline.Manifest) error {
	return o.putJSON(ManifestName(m.Certificate), m)
}

// GetManifest reads the manifest of a certificate.
func (o *Output) GetManifest(c certify.Certificate, id string) (pipeline.Manifest, error) {
	return ReadManifest(o.fs, filepath.Join(o.path, ManifestName(id)), c, id)
}

// ReadManifest reads the manifest of a certificate, and refuses one of another sample. A nil FS
// means [durable.OS].
func ReadManifest(fsys durable.FS, path string, c certify.Certificate, id string) (pipeline.Manifest, error) {
	fsys = cmp.Or[durable.FS](fsys, durable.OS{})
	var m pipeline.Manifest
	data, err := readAtMost(fsys, path, maxManifest)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w: it is no manifest: %w", path, pipeline.ErrRefused, err)
	}
	if err := m.Check(c, id); err != nil {
		return m, fmt.Errorf("%s: %w: %w", path, pipeline.ErrRefused, err)
	}
	return m, nil
}
