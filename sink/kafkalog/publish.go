package kafkalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/broker"
)

// Config says where artifacts are published.
type Config struct {
	Client *broker.Client
	Topics Topics
	Name   string // of the model: the key of its pointer
	// ExactlyOnce sends everything in one transaction, under an id that belongs to the
	// name: of two processes that publish for it the later one wins, and the other's
	// transaction is aborted.
	ExactlyOnce bool
}

// A Pointer is the value of a record of the topic of pointers.
type Pointer struct {
	Format      string            `json:"format"`
	Name        string            `json:"name"`
	Certificate string            `json:"certificate"` // id
	Model       string            `json:"model"`       // SHA-256
	Status      certify.Status    `json:"status"`
	Bound       float64           `json:"bound"`
	Segments    []certify.Segment `json:"segments,omitempty"` // of the sample
}

// PointerFormat names the version of a [Pointer].
const PointerFormat = "pacsgp-pointer/1"

// An Artifact is a certificate and its model as the bytes of their files.
type Artifact struct{ Document, Model []byte }

// id is the certificate's.
func (a Artifact) id() string { return digest(a.Document) }

// A Publication sends artifacts and, last, the pointer to one of them.
type Publication struct {
	cfg             Config
	writer          *broker.Writer
	piece, document int // bytes
}

// Begin checks the topics and takes an id for the producer. With ExactlyOnce, what an
// earlier process of this name has left unfinished is aborted.
func Begin(ctx context.Context, cfg Config) (*Publication, error) {
	cfg.Topics = cfg.Topics.WithDefaults()
	if cfg.Name == "" {
		return nil, errors.New("kafka: the model has no name to publish it under")
	}
	p := &Publication{cfg: cfg}
	var err error
	if p.piece, p.document, err = check(ctx, cfg.Client, cfg.Topics); err != nil {
		return nil, err
	}
	transactional := ""
	if cfg.ExactlyOnce {
		transactional = "pacsgp/" + cfg.Name
	}
	p.writer, err = cfg.Client.NewWriter(ctx, transactional)
	return p, err
}

// Put sends an artifact, its model first. One whose certificate is there is not sent
// again.
func (p *Publication) Put(ctx context.Context, a Artifact) error {
	if len(a.Document) > p.document {
		return fmt.Errorf("kafka: the certificate has %d bytes, and the topics %q and %q take %d: raise their max.message.bytes",
			len(a.Document), p.cfg.Topics.Certificates, p.cfg.Topics.Current, p.document)
	}
	id := a.id()
	there, err := last(ctx, p.cfg.Client, p.cfg.Topics.Certificates, id)
	if err != nil || there != nil {
		return err
	}
	if err := p.model(ctx, a.Model); err != nil {
		return err
	}
	return p.send(ctx, p.cfg.Topics.Certificates, id, broker.Record{Key: []byte(id), Value: a.Document})
}

// model sends the pieces of a model's file.
func (p *Publication) model(ctx context.Context, data []byte) error {
	sum := digest(data)
	count := max(1, (len(data)+p.piece-1)/p.piece)
	for i := range count {
		r := broker.Record{
			Key:   fmt.Appendf(nil, "%s/%d", sum, i),
			Value: data[i*p.piece : min(len(data), (i+1)*p.piece)],
			Headers: []broker.Header{
				{Key: headerNumber, Value: strconv.AppendInt(nil, int64(i), 10)},
				{Key: headerCount, Value: strconv.AppendInt(nil, int64(count), 10)},
				{Key: headerDigest, Value: []byte(sum)},
			},
		}
		if err := p.send(ctx, p.cfg.Topics.Models, sum, r); err != nil {
			return err
		}
	}
	return nil
}

// Headers of a piece of a model.
const (
	headerNumber = "number"
	headerCount  = "count"
	headerDigest = "sha256"
)

// Point moves the pointer to a certificate that was put.
func (p *Publication) Point(ctx context.Context, c certify.Certificate, g certify.Guarantee) error {
	document, err := certify.Marshal(c)
	if err != nil {
		return err
	}
	value, err := json.Marshal(Pointer{
		Format: PointerFormat, Name: p.cfg.Name, Certificate: digest(document), Model: c.Model.Digest,
		Status: g.Status, Bound: g.Bound, Segments: c.Sample.Segments,
	})
	if err != nil {
		return err
	}
	now, err := last(ctx, p.cfg.Client, p.cfg.Topics.Current, p.cfg.Name)
	if err != nil || bytes.Equal(now, value) {
		return err
	}
	return p.send(ctx, p.cfg.Topics.Current, p.cfg.Name, broker.Record{Key: []byte(p.cfg.Name), Value: value})
}

// ErrOvertaken says that the rows of a window are in what somebody else has published.
// A retry does not help, a later window does.
var ErrOvertaken = errors.New("another job has published these rows")

// Follows demands that a group stands in its topic where a window begins, or, if what is
// published was published before, where it ends; an offset that was never committed is
// no other. It is to be asked behind [Begin] and before anything is sent: with ExactlyOnce
// nobody of the same name can commit in between, for the one that began later has ended
// the others.
func Follows(ctx context.Context, client *broker.Client, group, topic string, firsts, ends map[int]int64) error {
	partitions := slices.Sorted(maps.Keys(firsts))
	at, err := client.CommittedOffsets(ctx, group, topic, partitions)
	if err != nil {
		return err
	}
	if maps.Equal(at, ends) {
		return nil
	}
	for _, i := range partitions {
		if at[i] >= 0 && at[i] != firsts[i] {
			return fmt.Errorf("kafka: topic %q, partition %d: the window begins at the offset %d, and group %q is at %d by now: %w", topic, i, firsts[i], group, at[i], ErrOvertaken)
		}
	}
	return nil
}

// CommitOffsets notes how far a group has come with its topic: in the transaction, if
// there is one.
func (p *Publication) CommitOffsets(ctx context.Context, group, topic string, ends map[int]int64, metadata string) error {
	return p.writer.CommitOffsets(ctx, group, topic, ends, metadata)
}

// Commit makes what was sent visible, if that is left to a transaction.
func (p *Publication) Commit(ctx context.Context) error { return p.writer.Commit(ctx) }

// send sends a record to the partition that its subject has.
func (p *Publication) send(ctx context.Context, topic, subject string, r broker.Record) error {
	partitions, err := p.cfg.Client.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(subject)) // a hash never returns an error
	r.Time = time.Now().UnixMilli()
	return p.writer.Send(ctx, topic, partitions[int(h.Sum32())%len(partitions)], r)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
