package kafkalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink"
)

// ErrNotFound means that nothing with the name or id was published, or only a part of it.
var ErrNotFound = stream.ErrNotFound

// maxPieces bounds the number of pieces of a model.
const maxPieces = sink.MaxModelBytes / 1024

// Pull reads the artifact with the id of a certificate. It checks every hash.
func Pull(ctx context.Context, client *broker.Client, t Topics, id string) (a stream.Artifact, err error) {
	if a.Document, a.Signatures, err = signedRecord(ctx, client, t.Certificates, id); err != nil {
		return a, err
	}
	if a.Document == nil {
		return a, fmt.Errorf("topic %q: certificate %s: %w", t.Certificates, id, ErrNotFound)
	}
	if found := digest.Of(a.Document); found != id {
		return a, fmt.Errorf("topic %q: certificate %s: its SHA-256 is %s", t.Certificates, id, found)
	}
	c, err := certify.Parse(a.Document)
	if err != nil {
		return a, fmt.Errorf("topic %q: certificate %s: %w", t.Certificates, id, err)
	}
	a.Model, err = model(ctx, client, t.Models, c.Model.Digest)
	return a, err
}

// Find returns the id of the one published certificate whose id begins with begin.
func Find(ctx context.Context, client *broker.Client, t Topics, begin string) (id string, err error) {
	found := map[string]bool{}
	err = scan(ctx, client, t.Certificates, false, func(_ int, r *broker.Record) error {
		if strings.HasPrefix(string(r.Key), begin) {
			id = string(r.Key)
			found[id] = true
		}
		return nil
	})
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("topic %q: %s published whose id begins with %s: want one", t.Certificates, words.Count(len(found), "certificate is", "certificates are"), begin)
	}
	return id, err
}

// Current reads the pointer of a name. It returns [ErrNotFound] if there is none.
func Current(ctx context.Context, client *broker.Client, t Topics, name string) (Pointer, error) {
	var p Pointer
	value, err := last(ctx, client, t.Current, name)
	if err != nil {
		return p, err
	}
	if value == nil {
		return p, fmt.Errorf("topic %q: model %q: %w (hint: where members of a group share the name, each partition of their rows has a model of its own, as in %s)", t.Current, name, ErrNotFound, NameOf(name, 0))
	}
	if err := json.Unmarshal(value, &p); err != nil || p.Format != PointerFormat || !digest.Is(p.Certificate) ||
		!slices.Contains([]certify.Predictor{"", certify.PredictorMean, certify.PredictorDraw}, p.Predictor) {
		return p, fmt.Errorf("topic %q: model %q: its value is no pointer of format %s", t.Current, name, PointerFormat)
	}
	return p, nil
}

func model(ctx context.Context, client *broker.Client, topic, sum string) ([]byte, error) {
	pieces, count, size := map[int][]byte{}, 0, int64(0)
	err := scan(ctx, client, topic, false, func(_ int, r *broker.Record) error {
		text, ok := strings.CutPrefix(string(r.Key), sum+"/")
		if !ok {
			return nil
		}
		i, err := strconv.Atoi(text)
		of, bad := strconv.Atoi(header(r, headerCount))
		if err != nil || bad != nil || i < 0 || i >= of || of > maxPieces {
			return fmt.Errorf("topic %q: %q is no piece of a model", topic, r.Key)
		}
		if of != count {
			// A later publication uses another size, and sends all pieces again.
			pieces, count, size = map[int][]byte{}, of, 0
		}
		size += int64(len(r.Value) - len(pieces[i]))
		if size > sink.MaxModelBytes {
			return fmt.Errorf("topic %q: the pieces of model %s have more than %d MiB", topic, sum, sink.MaxModelBytes>>20)
		}
		pieces[i] = bytes.Clone(r.Value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if count == 0 || len(pieces) < count {
		return nil, fmt.Errorf("topic %q: model %s, or a piece of it: %w", topic, sum, ErrNotFound)
	}
	data := make([]byte, 0, size)
	for i := range count {
		data = append(data, pieces[i]...)
	}
	if found := digest.Of(data); found != sum {
		return nil, fmt.Errorf("topic %q: the pieces of model %s have the SHA-256 %s", topic, sum, found)
	}
	return data, nil
}

func header(r *broker.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// last returns the last value of a key, or nil if there is none. Offsets decide, not the clocks of writers.
func last(ctx context.Context, client *broker.Client, topic, key string) ([]byte, error) {
	value, _, err := signedRecord(ctx, client, topic, key)
	return value, err
}

// mostSignatures bounds how many signatures are read for a certificate.
const mostSignatures = 64

// signedRecord is [last], with the signatures in the headers of all records of the key.
func signedRecord(ctx context.Context, client *broker.Client, topic, key string) (value []byte, signatures [][]byte, err error) {
	var in int
	var at int64
	err = scan(ctx, client, topic, false, func(partition int, r *broker.Record) error {
		if string(r.Key) != key {
			return nil
		}
		for _, h := range r.Headers {
			if h.Key == headerSignature && len(signatures) < mostSignatures && !has(signatures, h.Value) {
				signatures = append(signatures, bytes.Clone(h.Value))
			}
		}
		// A key has several partitions if the topic got more partitions; then times decide.
		if value == nil || partition == in || r.Time >= at {
			value, in, at = append(make([]byte, 0, len(r.Value)), r.Value...), partition, r.Time
		}
		return nil
	})
	return value, signatures, err
}

// has reports whether all contains the signature one.
func has(all [][]byte, one []byte) bool {
	return slices.ContainsFunc(all, func(s []byte) bool { return bytes.Equal(s, one) })
}

// scan calls use for each record that a topic has now. If undecided, it includes uncommitted ones.
func scan(ctx context.Context, client *broker.Client, topic string, undecided bool, use func(partition int, r *broker.Record) error) error {
	partitions, err := client.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	first, end, err := client.Bounds(ctx, topic, partitions)
	if err == nil && undecided {
		end, err = client.Written(ctx, topic, partitions)
	}
	if err != nil {
		return err
	}
	for _, p := range partitions {
		read := func(r *broker.Record) error { return use(p, r) }
		if err := client.Read(ctx, broker.Range{Topic: topic, Partition: p, First: first[p], End: end[p], Undecided: undecided}, read); err != nil {
			return err
		}
	}
	return nil
}

// Pointers reads the pointer of a name, at most once every [score.LookEvery]. It is for one goroutine at a time.
type Pointers struct {
	Client *broker.Client
	Topics Topics
	Name   string

	read time.Time
	last pipeline.Current
}

var _ score.Pointers = (*Pointers)(nil)

// Current returns the pointer as it was at most [score.LookEvery] ago.
func (t *Pointers) Current(ctx context.Context) (pipeline.Current, error) {
	if t.last.ID != "" && time.Since(t.read) < score.LookEvery {
		return t.last, nil
	}
	p, err := Current(ctx, t.Client, t.Topics, t.Name)
	if err != nil {
		return pipeline.Current{}, err
	}
	t.read, t.last = time.Now(), pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: p.Certificate}, Predictor: cmp.Or(p.Predictor, certify.PredictorMean), Source: pipeline.TopicIdentity(p.Source)}
	return t.last, nil
}

// Artifact reads the artifact that p names, and checks every hash.
func (t *Pointers) Artifact(ctx context.Context, p pipeline.Current) (score.Artifact, error) {
	a, err := Pull(ctx, t.Client, t.Topics, p.ID)
	if broker.Temporary(err) {
		return score.Artifact{}, score.Later(err)
	}
	if err != nil {
		return score.Artifact{}, err
	}
	c, err := certify.Parse(a.Document)
	if err != nil {
		return score.Artifact{}, err
	}
	m, err := sink.DecodeModel(a.Model)
	return score.Artifact{Certificate: c, ID: p.ID, Model: m, Digest: digest.Of(a.Model), Signatures: a.Signatures}, err
}
