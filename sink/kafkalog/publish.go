package kafkalog

import (
	"bytes"
	"cmp"
	"context"
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
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// Config sets up a [Publication], which is one transaction under an id of the name: a later process
// fences an earlier one.
type Config struct {
	Client *broker.Client
	Topics Topics
	Name   string // of the model: the key of its pointer
	// Share is the partitions of the rows of a member of a shared group: the transactional id
	// belongs to the name and the first of them, and each has a pointer of its own, see [NameOf].
	// nil means all.
	Share []int
	// Rows is the topic of the certificates' rows; zero if brokers do not tell.
	Rows broker.Identity
	// Sign signs the certificates.
	Sign sign.KeyFile
}

// NameOf returns the name of the pointer for the rows of one partition, in a shared group.
func NameOf(name string, partition int) string { return fmt.Sprintf("%s/%d", name, partition) }

// id returns the transactional id of all partitions.
func (cfg Config) id() string { return "pacsgp/" + cfg.Name }

// transactional returns the transactional id of a share; nil means all.
func transactional(id string, share []int) string {
	if share == nil {
		return id
	}
	return NameOf(id, slices.Min(share))
}

// EndOthers ends the transactions that earlier owners of these partitions may have left open: one of
// somebody dead hides for a minute what was committed behind it. A member of a shared group calls it once in each generation, before it asks for the group's
// position: from then on no other process can commit offsets of its partitions in this generation.
//
// The reason: commits of earlier generations are refused since this one began. Commits that were
// accepted before are in transactions under the id of the first partition of a share that has one
// of these partitions. Such a first partition is not behind the last of these. EndOthers fences all
// ids up to it, which aborts or completes their transactions. Members of this generation with other
// partitions that write under one of these ids begin again.
func EndOthers(ctx context.Context, cfg Config) error {
	return endShares(ctx, cfg.Client, cfg.id(), cfg.Share)
}

// endShares fences the transactional ids of all shares whose first partition is not behind the last of
// a share; nil means that of all partitions.
func endShares(ctx context.Context, client *broker.Client, id string, share []int) error {
	if share == nil {
		_, err := client.NewWriter(ctx, id)
		return err
	}
	for p := range slices.Max(share) + 1 {
		if _, err := client.NewWriter(ctx, NameOf(id, p)); err != nil {
			return err
		}
	}
	return nil
}

// A Pointer is the value of a record of the topic of pointers.
type Pointer struct {
	Format      string            `json:"format"`
	Name        string            `json:"name"`
	Certificate string            `json:"certificate"` // id
	Model       string            `json:"model"`       // SHA-256
	Predictor   certify.Predictor `json:"predictor"`   // of status and bound
	Status      certify.Status    `json:"status"`
	Bound       float64           `json:"bound"`
	Segments    []certify.Segment `json:"segments,omitempty"` // of the sample
	// Source identifies the topic of the segments beyond its name; zero if brokers do not tell.
	Source broker.Identity `json:"source,omitzero"`
}

// PointerFormat names the version of a [Pointer].
const PointerFormat = "pacsgp-pointer/1"

// A Publication sends artifacts and, last, the pointer to one of them. All is durable and visible from
// Commit on.
type Publication struct {
	*broker.Writer // which commits, and the offsets of a group with it

	cfg             Config
	piece, document int       // largest number of bytes of a piece of a model, and of a certificate
	fresh           bool      // see Fresh
	key             *sign.Key // nil: certificates are not signed
}

// Fresh says that no artifact put from now on was published before, so that the topic of
// certificates is not searched for it.
func (p *Publication) Fresh() { p.fresh = true }

// Begin checks the topics and gets an id for the producer. It aborts the open transaction of an
// earlier process of this name.
func Begin(ctx context.Context, cfg Config) (*Publication, error) {
	if cfg.Name == "" {
		return nil, errors.New("kafka: the model has no name to publish it under")
	}
	p := &Publication{cfg: cfg}
	var err error
	if p.key, err = cfg.Sign.Read(); err != nil {
		return nil, err
	}
	if p.piece, p.document, err = check(ctx, cfg.Client, cfg.Topics); err != nil {
		return nil, err
	}
	p.Writer, err = cfg.Client.NewWriter(ctx, transactional(cfg.id(), cfg.Share))
	return p, err
}

// Put sends a model and its certificate, unless the certificate was published before with the signature of
// the key.
func (p *Publication) Put(ctx context.Context, m pass.Model, c certify.Certificate) error {
	data, err := sink.EncodeModel(m)
	if err != nil {
		return err
	}
	document, err := certify.Marshal(c)
	if err != nil {
		return err
	}
	a := stream.Artifact{Document: document, Model: data}
	if p.key != nil {
		a.Signatures = [][]byte{p.key.Sign(digest.Of(document), c.Model.Digest)}
	}
	return p.put(ctx, a)
}

// put sends an artifact, its model first, unless its certificate was published before with these
// signatures. They are headers of its record, so that both are there or neither.
func (p *Publication) put(ctx context.Context, a stream.Artifact) error {
	if len(a.Document) > p.document {
		return fmt.Errorf("kafka: the certificate has %d bytes, and the topics %q and %q take %d: raise their max.message.bytes",
			len(a.Document), p.cfg.Topics.Certificates, p.cfg.Topics.Current, p.document)
	}
	id := digest.Of(a.Document)
	if !p.fresh {
		there, signed, err := signedRecord(ctx, p.cfg.Client, p.cfg.Topics.Certificates, id)
		if err != nil || there != nil && !slices.ContainsFunc(a.Signatures, func(s []byte) bool { return !has(signed, s) }) {
			return err
		}
	}
	if err := p.model(ctx, a.Model); err != nil {
		return err
	}
	r := broker.Record{Key: []byte(id), Value: a.Document}
	for _, s := range a.Signatures {
		r.Headers = append(r.Headers, broker.Header{Key: headerSignature, Value: s})
	}
	return p.send(ctx, p.cfg.Topics.Certificates, id, r)
}

// model sends the pieces of a model's file.
func (p *Publication) model(ctx context.Context, data []byte) error {
	sum := digest.Of(data)
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

// headerSignature is the header of a certificate with one of its signatures.
const headerSignature = "signature"

// Point moves the pointer of a name to a certificate that was put, or published before. It says the
// same of it as the pointer of an output.
func (p *Publication) Point(ctx context.Context, name string, c certify.Certificate, required certify.Predictor) error {
	required = cmp.Or(required, certify.PredictorMean)
	g := c.About(required)
	document, err := certify.Marshal(c)
	if err != nil {
		return err
	}
	value, err := json.Marshal(Pointer{
		Format: PointerFormat, Name: name, Certificate: digest.Of(document), Model: c.Model.Digest,
		Predictor: required, Status: g.Status, Bound: g.Bound, Segments: c.Sample.Segments, Source: p.cfg.Rows,
	})
	if err != nil {
		return err
	}
	now, err := last(ctx, p.cfg.Client, p.cfg.Topics.Current, name)
	if err == nil && !bytes.Equal(now, value) {
		err = p.send(ctx, p.cfg.Topics.Current, name, broker.Record{Key: []byte(name), Value: value})
	}
	return err
}

// Promote moves the pointer of a name to a published certificate, and returns the id of the one before. The
// pointer has the identity of the rows that an earlier pointer to this certificate had; without one
// it says nothing of it, and no training begins with the model.
func Promote(ctx context.Context, cfg Config, c certify.Certificate, id string, required certify.Predictor) (before string, err error) {
	p, err := Current(ctx, cfg.Client, cfg.Topics, cfg.Name)
	if err != nil {
		return "", err
	}
	err = scan(ctx, cfg.Client, cfg.Topics.Current, false, func(_ int, r *broker.Record) error {
		var earlier Pointer
		if json.Unmarshal(r.Value, &earlier) == nil && earlier.Certificate == id {
			cfg.Rows = earlier.Source
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	to, err := Begin(ctx, cfg)
	if err != nil {
		return "", err
	}
	if err = to.Point(ctx, cfg.Name, c, required); err == nil {
		err = to.Commit(ctx)
	}
	if err != nil {
		return "", errors.Join(err, to.Abort(ctx))
	}
	return p.Certificate, nil
}

// GroupAt is the position of a group relative to a window of its topic.
type GroupAt int

// Positions of a group.
const (
	Nowhere GroupAt = iota // an offset was never committed, or the cluster has forgotten it
	AtBegin
	AtEnd
)

// Follows returns the position of a group. It is an error unless the group is at the begin of the
// window, or nowhere, or at its end with the certificates of these ids published: otherwise another
// certificate of the same rows has moved the group ([stream.ErrOvertaken]). Call it after [Begin] and
// before anything is sent: no other process of the name can commit in between.
func Follows(ctx context.Context, client *broker.Client, t Topics, group, topic string, firsts, ends map[int]int64, ids ...string) (GroupAt, error) {
	partitions := slices.Sorted(maps.Keys(firsts))
	at, err := client.CommittedOffsets(ctx, group, topic, partitions)
	if err != nil {
		return Nowhere, err
	}
	if maps.Equal(at, ends) {
		for _, id := range ids {
			there, err := last(ctx, client, t.Certificates, id)
			if err != nil {
				return Nowhere, err
			}
			if there == nil {
				return Nowhere, fmt.Errorf("kafka: topic %q: group %q is at the end of the window, and certificate %s is not published: %w", topic, group, id, stream.ErrOvertaken)
			}
		}
		return AtEnd, nil
	}
	found := AtBegin
	for _, i := range partitions {
		if at[i] >= 0 && at[i] != firsts[i] {
			return Nowhere, fmt.Errorf("kafka: topic %q, partition %d: the window begins at the offset %d, and group %q is at %d by now: %w", topic, i, firsts[i], group, at[i], stream.ErrOvertaken)
		}
		if at[i] < 0 {
			found = Nowhere
		}
	}
	return found, nil
}

// Abort ends the transaction within seconds, also when ctx is done.
func (p *Publication) Abort(ctx context.Context) error { return abort(ctx, p.Writer) }

func (p *Publication) send(ctx context.Context, topic, subject string, r broker.Record) error {
	return sendTo(ctx, p.cfg.Client, p.Writer, topic, subject, r)
}

// sendTo sends a record to the partition of its subject.
func sendTo(ctx context.Context, client *broker.Client, w *broker.Writer, topic, subject string, r broker.Record) error {
	partitions, err := client.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(subject)) // a hash never returns an error
	r.Time = time.Now().UnixMilli()
	return w.Send(ctx, topic, partitions[int64(h.Sum32())%int64(len(partitions))], r)
}
