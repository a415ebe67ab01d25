package kafkalog

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// Schemas is a client of a schema registry.
type Schemas struct {
	Client   *sr.Client
	Patience time.Duration // how long a request is repeated if the registry does not answer
	// Waits, if not nil, is called with the reason when a wait for the registry begins, and with
	// nil when the registry answers again.
	Waits func(err error)
}

// errUnavailable means that the registry did not answer. The record may be good.
var errUnavailable = errors.New("the registry of schemas does not answer")

// errRefused means that the registry refuses to answer. A retry does not help.
var errRefused = fmt.Errorf("%w as it should", errUnavailable)

// schemas is a cache of parsed schemas.
type schemas struct {
	from *Schemas

	mu    sync.Mutex
	known map[uint32]knownSchema // by id
}

type knownSchema struct {
	is  *avro.Schema
	err error // permanent error instead of a schema
}

const (
	// mostSchemas bounds the cache, since ids come from records.
	mostSchemas = 10_000
	// mostReferences bounds how many schemas one refers to, directly or not.
	mostReferences = 100
)

// find returns the schema with an id. Without an answer it repeats the request until ctx is done or
// the registry's Patience ends.
func (s *schemas) find(ctx context.Context, id uint32) (*avro.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.known[id]; ok {
		return k.is, k.err
	}
	t, err := s.askAgain(ctx, id)
	if errors.Is(err, errUnavailable) {
		return nil, err
	}
	if len(s.known) >= mostSchemas {
		clear(s.known)
	}
	s.known[id] = knownSchema{t, err}
	return t, err
}

// First and longest pause between requests for the same schema.
const (
	firstRegistryPause = 100 * time.Millisecond
	lastRegistryPause  = 5 * time.Second
)

func (s *schemas) askAgain(ctx context.Context, id uint32) (*avro.Schema, error) {
	waits := s.from.Waits
	if waits == nil {
		waits = func(error) {}
	}
	began, waiting := time.Now(), false
	for pause := firstRegistryPause; ; pause = min(2*pause, lastRegistryPause) {
		t, err := s.ask(ctx, id)
		if err != nil {
			err = fmt.Errorf("schema %d: %w", id, err)
		}
		if !errors.Is(err, errUnavailable) && waiting {
			waits(nil)
		}
		left := s.from.Patience - time.Since(began)
		if !errors.Is(err, errUnavailable) || errors.Is(err, errRefused) || left <= 0 {
			return t, err
		}
		if !waiting {
			waiting = true
			waits(err)
		}
		if stopped := broker.Pause(ctx, min(pause, left)); stopped != nil {
			return nil, errors.Join(stopped, err)
		}
	}
}

func (s *schemas) ask(ctx context.Context, id uint32) (*avro.Schema, error) {
	found, err := s.from.Client.SchemaByID(ctx, int(id))
	if err != nil {
		return nil, answered(err)
	}
	f := references{schemas: s, named: map[string]avroType{}, seen: map[sr.SchemaReference]bool{}}
	parsed, err := f.parse(ctx, found)
	if err != nil {
		return nil, err
	}
	return parsed, wantRecord(parsed)
}

// answered classifies a failed request: no such schema, [errRefused] or [errUnavailable].
func answered(err error) error {
	e, ok := errors.AsType[*sr.ResponseError](err)
	_, stranger := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case ok && e.StatusCode == http.StatusNotFound:
		return fmt.Errorf("the registry has none: %w", err)
	case stranger, ok && e.StatusCode < http.StatusInternalServerError && e.StatusCode != http.StatusTooManyRequests && e.StatusCode != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return fmt.Errorf("%w: %w", errUnavailable, err)
}

// references collects the schemas that a schema refers to.
type references struct {
	*schemas

	cache avro.SchemaCache
	named map[string]avroType
	seen  map[sr.SchemaReference]bool
}

// parse parses the references of a schema, then the schema itself.
func (f *references) parse(ctx context.Context, s sr.Schema) (*avro.Schema, error) {
	if s.Type != sr.TypeAvro {
		return nil, fmt.Errorf("it is a schema of %s, not of Avro", s.Type)
	}
	for _, ref := range s.References {
		if f.seen[ref] {
			continue
		}
		if f.seen[ref] = true; len(f.seen) > mostReferences {
			return nil, fmt.Errorf("it refers to more than %d schemas", mostReferences)
		}
		found, err := f.from.Client.SchemaByVersion(ctx, ref.Subject, ref.Version)
		if err != nil {
			return nil, answered(err)
		}
		if _, err := f.parse(ctx, found.Schema); err != nil {
			return nil, fmt.Errorf("%s: %w", ref.Name, err)
		}
	}
	return parseAvro(s.Schema, &f.cache, f.named)
}
