package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
)

// Schemas is a registry of schemas.
type Schemas struct{ Client *sr.Client }

// errUnavailable says that the registry did not answer. The record may be good.
var errUnavailable = errors.New("the registry of schemas does not answer")

// schemas is a cache of parsed schemas.
type schemas struct {
	from *Schemas

	mu    sync.Mutex
	known map[uint32]knownSchema // by id
}

type knownSchema struct {
	is  *avro.Schema
	err error // permanent
}

const (
	// mostSchemas bounds the cache: ids come from records.
	mostSchemas = 10_000
	// mostReferences bounds the schemas that one refers to, directly or not.
	mostReferences = 100
)

// find returns the schema of an id.
func (s *schemas) find(ctx context.Context, id uint32) (*avro.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.known[id]; ok {
		return k.is, k.err
	}
	t, err := s.ask(ctx, id)
	if err != nil {
		err = fmt.Errorf("schema %d: %w", id, err)
		if errors.Is(err, errUnavailable) {
			return nil, err
		}
	}
	if len(s.known) >= mostSchemas {
		clear(s.known)
	}
	s.known[id] = knownSchema{t, err}
	return t, err
}

func (s *schemas) ask(ctx context.Context, id uint32) (*avro.Schema, error) {
	found, err := s.from.Client.SchemaByID(ctx, int(id))
	if err != nil {
		return nil, answered(err)
	}
	f := references{schemas: s, seen: map[sr.SchemaReference]bool{}}
	parsed, err := f.parse(ctx, found)
	if err != nil {
		return nil, err
	}
	return parsed, wantRecord(parsed)
}

// answered distinguishes the answer that there is no such schema from no answer.
func answered(err error) error {
	if e, ok := errors.AsType[*sr.ResponseError](err); ok && e.StatusCode == http.StatusNotFound {
		return fmt.Errorf("the registry has none: %w", err)
	}
	return fmt.Errorf("%w: %w", errUnavailable, err)
}

// references collects the schemas to which one refers.
type references struct {
	*schemas

	cache avro.SchemaCache
	seen  map[sr.SchemaReference]bool
}

// parse parses the references of a schema, then the schema.
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
	return parseAvro(s.Schema, &f.cache)
}
