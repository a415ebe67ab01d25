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

// A Sequence has the numbers and the artifacts of a stream's certificates.
type Sequence struct {
	Client *broker.Client
	Topics Topics
	Name   string // of the sequence
	Model  string // name of the pointer
}

// TakeNumber takes the next number of a sequence of certificates, durably: no call of any process
// returns it again, whatever becomes of the certificate. It tries again if another member takes one at
// the same time. A process that is killed may lose a number.
func (s *Sequence) TakeNumber(ctx context.Context) (int64, error) {
	for {
		k, err := takeNumber(ctx, s.Client, s.Topics, s.Name)
		if !broker.Fenced(err) {
			return k, err
		}
		if err := broker.Pause(ctx, rand.N(time.Second)); err != nil { //nolint:gosec // for two that end each other
			return 0, err
		}
	}
}

// Current reads the pointer.
func (s *Sequence) Current(ctx context.Context) (stream.Pointer, error) {
	p, err := Current(ctx, s.Client, s.Topics, s.Model)
	return stream.Pointer{ID: p.Certificate, Of: pipeline.TopicIdentity(p.Source)}, err
}

// Pull reads an artifact, and checks every hash.
func (s *Sequence) Pull(ctx context.Context, id string) (stream.Artifact, error) {
	return Pull(ctx, s.Client, s.Topics, id)
}

// sequenceFormat names the version of a [taken].
const sequenceFormat = "pacsgp-sequence/1"

// taken is the record with the last number of a sequence. It is in the compacted topic of pointers,
// under a key that is no name of a model.
type taken struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Number int64  `json:"run"`
}

func sequenceKey(name string) string { return "sequence\n" + name }

// takeNumber takes the next number. Of two calls at the same time the later one fences the other, whose
// error is [broker.Fenced].
//
// No two calls return the same number, so that the parts of δ of all certificates add up to at most
// δ. For let a second call get the writer's id after the first one. If the first call's record is
// stored by then, the second call reads it, committed or not, and takes a larger number. If not, the
// record is never stored, since brokers refuse a fenced writer, and the first call returns an error.
func takeNumber(ctx context.Context, client *broker.Client, t Topics, name string) (int64, error) {
	key := sequenceKey(name)
	// This fences other processes before the numbers are read.
	w, err := client.NewWriter(ctx, "pacsgp/sequence/"+name)
	if err != nil {
		return 0, err
	}
	number, err := lastNumber(ctx, client, t.Current, name)
	if err != nil {
		return 0, err
	}
	if number >= certify.MaxNumber {
		return 0, fmt.Errorf("kafka: topic %q: the sequence %q has come to its end, %d", t.Current, name, number)
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

// lastNumber returns the largest number in all records, 0 if there is none. It counts uncommitted
// records too: an open transaction would hide records behind it, and the number of an aborted one
// is no loss.
func lastNumber(ctx context.Context, client *broker.Client, topic, name string) (number int64, err error) {
	err = scan(ctx, client, topic, true, func(_ int, r *broker.Record) error {
		if string(r.Key) != sequenceKey(name) {
			return nil
		}
		var found taken
		if err := json.Unmarshal(r.Value, &found); err != nil || found.Format != sequenceFormat || found.Name != name || found.Number < 1 {
			return fmt.Errorf("kafka: topic %q: the record of the sequence %q is none of format %s", topic, name, sequenceFormat)
		}
		number = max(number, found.Number)
		return nil
	})
	return number, err
}
