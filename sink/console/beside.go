package console

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// Bounds of files beside certificates: a folder may have anything.
const (
	maxPointer  = 64 << 10
	maxManifest = 16 << 20
)

// pointedTo returns the id of the certificate that a pointer names, "" if it names none.
func pointedTo(path string) string {
	var pointer struct {
		Format string `json:"format"`
		ID     string `json:"id"`
	}
	if err := readBeside(path, "a pointer", maxPointer, &pointer); err != nil || pointer.Format != "pacsgp-current/1" {
		return ""
	}
	return pointer.ID
}

// manifestBeside reads the manifest of a certificate, nil if there is none.
func manifestBeside(e *Entry, c certify.Certificate) (*pipeline.Manifest, error) {
	var m pipeline.Manifest
	err := readBeside(filepath.Join(filepath.Dir(e.Path), lake.ManifestName(e.ID)), "a manifest", maxManifest, &m)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = m.Check(c, e.ID)
	}
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// readBeside reads a JSON file of a bounded size.
func readBeside(path, what string, most int64, into any) error {
	data, err := durable.ReadSmall(path, what, most)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
