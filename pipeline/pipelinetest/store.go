package pipelinetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Store keeps what a job produces in memory: a [pipeline.Sink],
// [pipeline.AttemptLog], [pipeline.Looks] and [pipeline.Checkpoint] for tests, and with [Output] all that
// Train asks for. It is for one goroutine at a time. The zero Store is empty.
type Store struct {
	Models       map[string][]byte // by digest
	Certificates [][]byte          // in the order of their publication
	Log          []pipeline.Attempt
	Seen         []pipeline.Look
	State        []byte // the checkpoint
	Handover     *pipeline.Handover

	holder      *Output
	manifests   map[string]pipeline.Manifest // by certificate
	checkpoints map[pipeline.Digest]*Store   // by job
	runs        []pipeline.RunState          // the newest first
	current     *pipeline.Current
	sequences   map[string]pipeline.Sequence
}

var (
	_ pipeline.AttemptLog = (*Store)(nil)
	_ pipeline.Checkpoint = (*Store)(nil)
	_ pipeline.Looks      = (*Store)(nil)
)

// PutModel keeps the model's gob form.
func (s *Store) PutModel(ctx context.Context, m pipeline.Model) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(m); err != nil {
		return "", fmt.Errorf("pipelinetest: model: %w", err)
	}
	digest := hexDigest(out.Bytes())
	if s.Models == nil {
		s.Models = map[string][]byte{}
	}
	s.Models[digest] = out.Bytes()
	return digest, nil
}

// GetModel decodes the kept bytes, if they still have the digest.
func (s *Store) GetModel(ctx context.Context, digest string) (pipeline.Model, error) {
	if err := ctx.Err(); err != nil {
		return pipeline.Model{}, err
	}
	var m pipeline.Model
	data, ok := s.Models[digest]
	if !ok || hexDigest(data) != digest {
		return m, fmt.Errorf("pipelinetest: no model with digest %s", digest)
	}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&m); err != nil {
		return m, fmt.Errorf("pipelinetest: model: %w", err)
	}
	family, err := kernel.Named(m.Posterior.Kernel.Family.Name) // gob leaves its functions out
	if err != nil {
		return m, fmt.Errorf("pipelinetest: model: %w", err)
	}
	m.Posterior.Kernel.Family = family
	return m, nil
}

// PutCertificate keeps the certificate's bytes.
func (s *Store) PutCertificate(ctx context.Context, c certify.Certificate) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	doc, err := certify.Marshal(c)
	if err != nil {
		return "", err
	}
	s.Certificates = append(s.Certificates, doc)
	return hexDigest(doc), nil
}

// Record counts attempts.
func (s *Store) Record(ctx context.Context, a pipeline.Attempt) (onRows, inLog int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	if !slices.Contains(s.Log, a) {
		s.Log = append(s.Log, a)
	}
	for _, e := range s.Log {
		inLog++
		if e.Targets == a.Targets {
			onRows++
		}
		if e == a {
			break
		}
	}
	return onRows, inLog, nil
}

// Attempts are those of the log.
func (s *Store) Attempts(ctx context.Context) ([]pipeline.Attempt, error) {
	return slices.Clone(s.Log), ctx.Err()
}

// Look notes a look.
func (s *Store) Look(ctx context.Context, l pipeline.Look) ([]pipeline.Look, error) {
	at := slices.IndexFunc(s.Seen, l.Same)
	if at < 0 {
		at = len(s.Seen)
		s.Seen = append(s.Seen, l)
	}
	return slices.Clone(s.Seen[:at]), ctx.Err()
}

// Noted returns the looks that were noted.
func (s *Store) Noted(ctx context.Context) ([]pipeline.Look, error) {
	return slices.Clone(s.Seen), ctx.Err()
}

// Save keeps a copy of the checkpoint.
func (s *Store) Save(ctx context.Context, state []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.State = bytes.Clone(state)
	return nil
}

// Load returns the checkpoint, or nil.
func (s *Store) Load(ctx context.Context) ([]byte, error) {
	return bytes.Clone(s.State), ctx.Err()
}

// Clear forgets the checkpoint.
func (s *Store) Clear(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.State = nil
	return nil
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
