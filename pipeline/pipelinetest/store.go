package pipelinetest

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Store holds what a job produces in memory, for tests. It is a [pass.Sink], [fit.Logs] and [fit.Checkpoints], and an
// [Output] makes it a [pipeline.Output]. Only one goroutine at a time may use it. The zero Store is empty.
type Store struct {
	Models        map[string][]byte // by digest
	Certificates  [][]byte          // in the order of their publication
	TrainingState *pass.TrainingState

	state       []byte // the checkpoint
	holder      *Output
	manifests   map[string]pipeline.Manifest // by certificate
	checkpoints map[job.Digest]*Store        // by job
	runs        []pipeline.RunState          // the newest first
	current     *pipeline.Current
	notes       map[string][]byte
	log         fit.Log
}

var (
	_ fit.Logs        = (*Store)(nil)
	_ fit.Checkpoints = (*Store)(nil)
)

// set sets a value in a map, and makes the map if it is nil.
func set[K comparable, V any](in *map[K]V, key K, value V) {
	if *in == nil {
		*in = map[K]V{}
	}
	(*in)[key] = value
}

// PutModel stores the model's gob form.
func (s *Store) PutModel(ctx context.Context, m pass.Model) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(m); err != nil {
		return "", fmt.Errorf("pipelinetest: model: %w", err)
	}
	id := digest.Of(out.Bytes())
	set(&s.Models, id, out.Bytes())
	return id, nil
}

// GetModel decodes the stored bytes. It returns an error if they no longer have the digest.
func (s *Store) GetModel(ctx context.Context, id string) (pass.Model, error) {
	if err := ctx.Err(); err != nil {
		return pass.Model{}, err
	}
	var m pass.Model
	data, ok := s.Models[id]
	if !ok || digest.Of(data) != id {
		return m, fmt.Errorf("pipelinetest: no model with digest %s", id)
	}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&m); err != nil {
		return m, fmt.Errorf("pipelinetest: model: %w", err)
	}
	family, err := kernel.Named(m.Posterior.Kernel.Family.Name) // gob does not encode its functions
	if err != nil {
		return m, fmt.Errorf("pipelinetest: model: %w", err)
	}
	m.Posterior.Kernel.Family, m.Predictive.Kernel.Family = family, family
	return m, nil
}

// PutCertificate stores the certificate's bytes.
func (s *Store) PutCertificate(ctx context.Context, c certify.Certificate) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	doc, err := certify.Marshal(c)
	if err != nil {
		return "", err
	}
	s.Certificates = append(s.Certificates, doc)
	return digest.Of(doc), nil
}

// Log returns a copy of the log.
func (s *Store) Log() (l fit.Log, err error) { return l, copied(&l, s.log) }

// PutLog stores a copy of the log.
func (s *Store) PutLog(l fit.Log) error {
	s.log = fit.Log{}
	return copied(&s.log, l)
}

// Save stores a copy of the checkpoint.
func (s *Store) Save(ctx context.Context, state []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.state = bytes.Clone(state)
	return nil
}

// Load returns the checkpoint, or nil.
func (s *Store) Load(ctx context.Context) ([]byte, error) {
	return bytes.Clone(s.state), ctx.Err()
}

// Clear removes the checkpoint.
func (s *Store) Clear(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.state = nil
	return nil
}
