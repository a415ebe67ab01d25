package pipelinetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// An Output is a store as the output of a job. Several outputs of one store behave like several processes, of which one at
// a time holds the output.
type Output struct {
	*Store
	holds int
}

var _ pipeline.Output = (*Output)(nil)

// Hold holds the store.
func (o *Output) Hold() (release func() error, err error) {
	if o.holder != nil && o.holder != o {
		return nil, fmt.Errorf("pipelinetest: %w", pipeline.ErrHeld)
	}
	o.holder = o
	o.holds++
	return func() error {
		if o.holds--; o.holds == 0 {
			o.holder = nil
		}
		return nil
	}, nil
}

// GetCertificate parses the stored bytes.
func (s *Store) GetCertificate(ctx context.Context, id string) (certify.Certificate, error) {
	if err := ctx.Err(); err != nil {
		return certify.Certificate{}, err
	}
	for _, doc := range s.Certificates {
		if digest.Of(doc) == id {
			return certify.Parse(doc)
		}
	}
	return certify.Certificate{}, fmt.Errorf("pipelinetest: certificate %s: %w", id, fs.ErrNotExist)
}

// PutManifest stores the manifest.
func (s *Store) PutManifest(m pipeline.Manifest) error {
	set(&s.manifests, m.Certificate, m)
	return nil
}

// GetManifest returns the manifest of a certificate.
func (s *Store) GetManifest(c certify.Certificate, id string) (pipeline.Manifest, error) {
	m := s.manifests[id]
	if err := m.Check(c, id); err != nil {
		return m, fmt.Errorf("pipelinetest: manifest: %w: %w", job.ErrRefused, err)
	}
	return m, nil
}

// Checkpoint returns a store for the job's checkpoint only.
func (s *Store) Checkpoint(j job.Digest) fit.Checkpoints {
	if s.checkpoints[j] == nil {
		set(&s.checkpoints, j, &Store{})
	}
	return s.checkpoints[j]
}

// Where returns "in memory", and whether there is a checkpoint.
func (s *Store) Where() (location string, there bool) { return "in memory", s.state != nil }

// Warnings returns nil.
func (s *Store) Warnings([]job.Digest) ([]string, error) { return nil, nil }

// PutRun stores a copy of the record.
func (s *Store) PutRun(r *pipeline.RunState) error {
	var kept pipeline.RunState
	if err := copied(&kept, r); err != nil {
		return err
	}
	s.runs = slices.DeleteFunc(s.runs, func(old pipeline.RunState) bool { return old.Run == r.Run && old.Began.Equal(r.Began) })
	s.runs = append(s.runs, kept)
	slices.SortFunc(s.runs, func(a, b pipeline.RunState) int {
		return cmp.Or(b.Began.Compare(a.Began), strings.Compare(b.Run, a.Run))
	})
	return nil
}

// Runs returns the records, the newest first.
func (s *Store) Runs() (iter.Seq[*pipeline.RunState], error) {
	all := slices.Clone(s.runs)
	return func(yield func(*pipeline.RunState) bool) {
		for i := range all {
			var r pipeline.RunState
			if copied(&r, &all[i]) != nil || !yield(&r) {
				return
			}
		}
	}, nil
}

// copied copies a value by its JSON form, so that only what a file would hold is copied.
func copied(to, from any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return err
}

// Retain removes old runs, and artifacts that only they have published.
func (s *Store) Retain(keep int) error {
	var needed, published []pipeline.ArtifactRef
	if s.current != nil {
		needed = append(needed, s.current.ArtifactRef)
	}
	finished, numbered := 0, map[string]bool{}
	s.runs = slices.DeleteFunc(s.runs, func(r pipeline.RunState) bool {
		published = append(published, r.Artifacts...)
		newest := false
		if of := r.Scheduled; of != nil && of.Sequence > 0 {
			newest, numbered[of.Job] = !numbered[of.Job], true
		}
		if finished >= keep {
			return !newest && (s.current == nil || !slices.Contains(r.Artifacts, s.current.ArtifactRef))
		}
		if r.State == pipeline.StateFinished {
			finished++
		}
		needed = append(needed, r.Artifacts...)
		return false
	})
	for _, a := range published {
		if !slices.ContainsFunc(needed, func(b pipeline.ArtifactRef) bool { return a.ID == b.ID }) {
			s.Certificates = slices.DeleteFunc(s.Certificates, func(doc []byte) bool { return digest.Of(doc) == a.ID })
			delete(s.manifests, a.ID)
		}
		if !slices.ContainsFunc(needed, func(b pipeline.ArtifactRef) bool { return a.Model == b.Model }) {
			delete(s.Models, a.Model)
		}
	}
	return nil
}

// Current returns a copy of the pointer.
func (s *Store) Current() (*pipeline.Current, error) {
	if s.current == nil {
		return nil, nil
	}
	return new(*s.current), nil
}

// Point moves the pointer.
func (s *Store) Point(to pipeline.Current) error {
	s.current = &to
	return nil
}

// Note returns a copy of the document.
func (s *Store) Note(name string) ([]byte, string, error) {
	return bytes.Clone(s.notes[name]), name, nil
}

// PutNote stores a copy of the document.
func (s *Store) PutNote(name string, text []byte) error {
	set(&s.notes, name, bytes.Clone(text))
	return nil
}

// Numbered parses all stored certificates.
func (s *Store) Numbered(ctx context.Context, name string) (map[int64]string, error) {
	found := map[int64]string{}
	for _, doc := range s.Certificates {
		c, err := certify.Parse(doc)
		if err != nil || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		if of := c.Delta.Sequence; of != nil && of.Name == name {
			found[of.Number] = digest.Of(doc)
		}
	}
	return found, nil
}

// PutTrainingState stores the training state. Its model must be in the store.
func (s *Store) PutTrainingState(ctx context.Context, h *pass.TrainingState) error {
	if !h.First() {
		if _, err := s.GetModel(ctx, h.Model); err != nil {
			return err
		}
	}
	s.TrainingState = h
	return nil
}

// DropTrainingState removes the training state.
func (s *Store) DropTrainingState() error {
	s.TrainingState = nil
	return nil
}
