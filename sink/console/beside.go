package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// Bounds of files beside certificates: a folder may have anything.
const (
	maxManifest = 16 << 20
	maxRun      = 16 << 20
	maxTests    = 64 << 20
)

// A pointer is the pointer of a folder, or why it cannot be read.
type pointer struct {
	pipeline.Current

	Fault      string
	ModelFault string // why the file of its model is not the one that it names, "" if it is
}

func readPointer(folder string) pointer {
	p, err := lake.ReadPointer(nil, folder)
	switch {
	case err != nil:
		return pointer{Fault: err.Error()}
	case p == nil: // it is gone since it was listed
		return pointer{}
	}
	return pointer{Current: *p}
}

// A model is the file of a current model, as it was read.
type model struct {
	info  os.FileInfo // nil: it is missing
	fault string
}

// readModel compares the content of a model file with its name, unless it has not changed since.
func readModel(path, digest string, before model) (m model) {
	info, err := os.Stat(path)
	if err != nil {
		return model{fault: "its file " + filepath.Base(path) + " is missing or cannot be read: " + plainly(err).Error()}
	}
	if before.info != nil && unchanged(before.info, info) {
		return before
	}
	sum := sha256.New()
	f, _, err := durable.OpenRegular(path)
	if err == nil {
		_, err = io.Copy(sum, f)
		err = errors.Join(err, f.Close())
	}
	if err != nil { // perhaps another time
		return model{fault: "its file " + filepath.Base(path) + " cannot be read: " + plainly(err).Error()}
	}
	m.info = info
	switch {
	case hex.EncodeToString(sum.Sum(nil)) != digest:
		m.fault = "its file " + filepath.Base(path) + " is damaged: the content is not what the name says"
	}
	return m
}

// A Run is the record of a run, without its lists of files and steps.
type Run struct {
	pipeline.RunState

	Files int
}

func readRun(path string) (*Run, error) {
	r := &Run{}
	if err := readBeside(path, "a record of a run", maxRun, &r.RunState); err != nil {
		return nil, plainly(err)
	}
	if r.Format != pipeline.RunStateFormat || lake.RunStateName(&r.RunState) != filepath.Base(path) {
		return nil, errors.New("it is no record of a run, or of another one than its name says")
	}
	r.Record = nil
	if r.Scheduled != nil {
		r.Files, r.Scheduled.Files = len(r.Scheduled.Files), nil
	}
	return r, nil
}

// readTests reads what watch has counted.
func readTests(path string) (all []pipeline.RowsTest, err error) {
	var s watch.State
	if err := readBeside(path, "a state of watch", maxTests, &s); err != nil {
		return nil, plainly(err)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	for _, t := range s.Tests {
		if n := t.Labelled(); n > 0 {
			all = append(all, pipeline.RowsTest{Certificate: t.Certificate, Rows: n, Loss: t.Losses.Upper(), Bound: 1, Alarm: t.Alarm.Raised > 0})
		}
	}
	return all, nil
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
