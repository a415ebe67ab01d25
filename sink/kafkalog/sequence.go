package kafkalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
)

// A Sequence has the run numbers and the artifacts of a stream's certificates.
type Sequence struct {
	Client *broker.Client
	Topics Topics
	Name   string // of the sequence
	Model  string // name of the pointer
}

// TakeNumber reserves the next number of the sequence durably: no call of any process returns it again. If another
// member reserves a number at the same time, it tries again. A killed process may lose a number.
func (s *Sequence) TakeNumber(ctx context.Context) (int64, error) {
	for {
		k, err := takeNumber(ctx, s.Client, s.Topics, s.Name)
		if !broker.Fenced(err) {
			return k, err
		}
		if err := broker.Pause(ctx, rand.N(time.Second)); err != nil { //nolint:gosec // two callers can fence each other
			return 0, err
		}
	}
}

// Current reads the pointer to the current certificate.
func (s *Sequence) Current(ctx context.Context) (stream.Pointer, error) {
	p, err := Current(ctx, s.Client, s.Topics, s.Model)
	return stream.Pointer{ID: p.Certificate, Of: pipeline.TopicIdentity(p.Source)}, err
}

// Pull reads the artifact with the id of a certificate, and checks every hash.
func (s *Sequence) Pull(ctx context.Context, id string) (stream.Artifact, error) {
	return Pull(ctx, s.Client, s.Topics, id)
}

// sequenceFormat names the version of a [taken].
const sequenceFormat = "pacsgp-sequence/1"

// taken is the record of the last number of a sequence. It is in the compacted topic of pointers,
// under a key that is not the name of a model.
type taken struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Number int64  `json:"run"`
}

func sequenceKey(name string) string { return "sequence\n" + name }

// takeNumber reserves the next number. Of two concurrent calls the later one fences the earlier
// one, which then returns an error that [broker.Fenced] detects.
//
// No two calls return the same number, so that the parts of δ of all certificates add up to at most
// δ. Proof: let a second call open its writer after the first one. If the first call's record is
// stored by then, the second call reads it, committed or not, and takes a larger number. If not, it
// is never stored, since brokers refuse a fenced writer, and the first call returns an error.
func takeNumber(ctx context.Context, client *broker.Client, t Topics, name string) (int64, error) {
	key := sequenceKey(name)
	// This fences other processes before the number is read.
	w, err := client.NewWriter(ctx, "pacsgp/sequence/"+name)
	if err != nil {
		return 0, err
	}
	number, err := lastNumber(ctx, client, t.Current, name)
	if err != nil {
		return 0, err
	}
	if number >= certify.MaxNumber {
		return 0, fmt.Errorf("topic %q: the sequence %q has come to its end, %d", t.Current, name, number)
	}
	value, err := json.Marshal(taken{sequenceFormat, name, number + 1})
	if err != nil {
		return 0, err
	}
	err = sendTo(ctx, client, w, t.Current, key, broker.Record{Key: []byte(key), Value: value})
	if err == nil {
		err = w.Commit(ctx)
	}
	if err != nil {
		return 0, errors.Join(err, abort(ctx, w))
	}
	return number + 1, nil
}

// lastNumber returns the largest number in all records, or 0. It includes uncommitted records: an open transaction
// would hide the records after it, and to skip the number of an aborted one does no harm.
func lastNumber(ctx context.Context, client *broker.Client, topic, name string) (number int64, err error) {
	err = scan(ctx, client, topic, true, func(_ int, r *broker.Record) error {
		if string(r.Key) != sequenceKey(name) {
			return nil
		}
		var found taken
		if err := json.Unmarshal(r.Value, &found); err != nil || found.Format != sequenceFormat || found.Name != name || found.Number < 1 {
			return fmt.Errorf("topic %q: the record of the sequence %q is none of format %s", topic, name, sequenceFormat)
		}
		number = max(number, found.Number)
		return nil
	})
	return number, err
}
