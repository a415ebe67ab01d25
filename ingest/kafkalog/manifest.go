package kafkalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// spoolFormat names the version of the manifest.
const spoolFormat = "pacsgp-spool/1"

const (
	manifestName = "_spool.json" // readers of lakes skip this name
	maxManifest  = 64 << 20      // bytes
)

var segmentName = regexp.MustCompile(`^(segment-[0-9]{8,}-partition-[0-9]{6,}\.parquet|_letters-[0-9]{8,}-partition-[0-9]{6,}\.log)$`)

// A manifest describes a spool and its progress. It is replaced when a segment is durable.
type manifest struct {
	Format   string                `json:"format"`
	Declared string                `json:"declared"` // see Config.declaration
	Spans    []pipeline.WindowPart `json:"spans"`    // the frozen window
	// Identity is that of the topic when the window was frozen; zero for a replay.
	Identity broker.Identity `json:"identity"`
	Segments []segment       `json:"segments"` // the stored segments
	Complete bool            `json:"complete"`
}

// A segment is a segment with its files in the spool.
type segment struct {
	dataset.Segment

	File        string `json:"file"`
	DeadLetters string `json:"dead_letters,omitempty"` // the file of its dead letters; "" without any
	Bytes       int64  `json:"bytes"`                  // size of both files
}

// declaration returns the settings in which two runs must agree to share a spool.
func (cfg Config) declaration() (string, error) {
	text, err := json.Marshal(struct {
		Topic       string
		Partitions  []int
		From, To    Position
		Window      int64 `json:",omitempty"`
		Format      string
		Schema      string `json:",omitempty"`
		Columns     []string
		Tolerant    bool
		DeadLetters bool `json:"Letters,omitempty"`
		Rows        int
	}{cfg.Topic, cfg.Partitions, cfg.From, cfg.To, cfg.Rows, cfg.Format, cfg.Schema, cfg.Columns, cfg.Tolerant, cfg.DeadLetters, cfg.segmentRows})
	return string(text), err
}

func readManifest(folder string) (manifest, error) {
	var m manifest
	path := filepath.Join(folder, manifestName)
	text, err := durable.ReadSmall(path, "the manifest of a spool", maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		m, err = parseManifest(text)
	}
	if err != nil {
		return m, fmt.Errorf("spool: %s: %w (hint: remove the folder, and the window is consumed again)", path, err)
	}
	return m, nil
}

// parseManifest parses a manifest. It returns an error for files in other folders or named twice.
func parseManifest(text []byte) (manifest, error) {
	var m manifest
	text, err := digest.Unseal(text)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return manifest{}, err
	}
	if m.Format != spoolFormat {
		return manifest{}, fmt.Errorf("format %q, this program reads %q", m.Format, spoolFormat)
	}
	for _, of := range m.Spans {
		if of.Partition < 0 || of.First < 0 || of.End < of.First {
			return manifest{}, fmt.Errorf("partition %d from %d to %d is no part of a window", of.Partition, of.First, of.End)
		}
	}
	seen := map[string]bool{}
	for _, g := range m.Segments {
		if g.Partition < 0 || g.First < 0 || g.End < g.First || g.Rows < 0 || g.Bytes < 0 {
			return manifest{}, fmt.Errorf("%q: partition %d from %d to %d with %d rows in %d bytes is no segment", g.File, g.Partition, g.First, g.End, g.Rows, g.Bytes)
		}
		for _, name := range []string{g.File, g.DeadLetters} {
			if name != "" && seen[name] || name != "" && !segmentName.MatchString(name) || g.File == "" {
				return manifest{}, fmt.Errorf("%q is no file of a segment, or of two", name)
			}
			seen[name] = true
		}
	}
	return m, nil
}

// Remove removes the files of a spool, and the folder if it is then empty.
func Remove(folder string) error {
	// First the manifest: without it the other files have no meaning.
	for _, name := range []string{manifestName, ".lock"} {
		if err := remove(durable.OS{}, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
	}
	left, err := sweep(durable.OS{}, folder, segmentName.MatchString)
	if err != nil || left > 0 {
		return err
	}
	return remove(durable.OS{}, folder)
}

// sweep removes unfinished files and those for which gone returns true. It counts the rest.
func sweep(files durable.FS, folder string, gone func(name string) bool) (left int, err error) {
	err = durable.Sweep(files, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var names []string
	if err == nil {
		names, err = files.List(folder)
	}
	for _, name := range names {
		if gone(name) {
			err = errors.Join(err, remove(files, filepath.Join(folder, name)))
		} else {
			left++
		}
	}
	if err != nil {
		return left, fmt.Errorf("spool: %w", err)
	}
	return left, nil
}

func remove(files durable.FS, path string) error {
	if err := files.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *spool) save() error {
	text, err := json.MarshalIndent(s.m, "", "  ")
	if err != nil {
		return err
	}
	return s.write(manifestName, func(p *durable.Pending) error {
		_, err := p.Write(digest.Seal(text))
		return err
	})
}

// write durably writes a file of the folder, whole or not at all.
func (s *spool) write(name string, content func(*durable.Pending) error) error {
	if err := durable.Write(s.cfg.files, filepath.Join(s.cfg.Folder, name), content); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}
