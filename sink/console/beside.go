package console

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
)

// What train writes beside certificates: docs/format.md.
const (
	currentFile = "current.json"
	maxPointer  = 64 << 10
	maxManifest = 16 << 20
)

// pointedTo is the id of the certificate that a pointer names, "" if it names none.
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

// A Manifest lists the files of a sample.
type Manifest struct {
	Format      string         `json:"format"`
	Certificate string         `json:"certificate"`
	Sample      string         `json:"sample"`
	Files       []ManifestFile `json:"files"`
}

// A ManifestFile is a file of a sample.
type ManifestFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Rows  int64  `json:"rows"`
}

// mostListed is how many files of a manifest a page lists.
const mostListed = 100

// Listed are the first files.
func (m *Manifest) Listed() []ManifestFile { return m.Files[:min(len(m.Files), mostListed)] }

// manifestBeside reads the manifest of a certificate. Without one there is nothing.
func manifestBeside(e *Entry, c certify.Certificate) (*Manifest, error) {
	var m Manifest
	err := readBeside(filepath.Join(filepath.Dir(e.Path), "manifest-"+e.ID+".json"), "a manifest", maxManifest, &m)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rows int64
	for _, f := range m.Files {
		rows += f.Rows
	}
	if m.Format != "pacsgp-manifest/1" || m.Certificate != e.ID || m.Sample != c.Sample.Digest || rows != c.Sample.Rows {
		return nil, errors.New("it is not the manifest of this certificate")
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
