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

// Config sets up a [Publication]. The transactional id follows from Name: a later process fences an earlier one.
type Config struct {
	Client *broker.Client
	Topics Topics
	Name   string // of the model: the key of its pointer
	// Share is the partitions of a member of a shared group; nil means all. The transactional id
	// then has the first of them, and each partition has its own pointer: see [NameOf].
	Share []int
	// Rows identifies the topic of the certificates' rows; zero if brokers report no identity.
	Rows broker.Identity
	// Sign signs the certificates.
	Sign sign.KeyFile
}

// NameOf returns the name of the pointer for one partition of the rows in a shared group.
func NameOf(name string, partition int) string { return fmt.Sprintf("%s/%d", name, partition) }

// id returns the transactional id for all partitions.
func (cfg Config) id() string { return "pacsgp/" + cfg.Name }

// transactional returns the transactional id of a share, or id if share is nil: all partitions.
func transactional(id string, share []int) string {
	if share == nil {
		return id
	}
	return NameOf(id, slices.Min(share))
}

// EndOthers ends transactions that earlier owners of these partitions may have left open: those of a dead process hide
// later commits for a minute. A member of a shared group calls it once in each generation, before it reads offsets:
// then no other process can commit any of its partitions there.
//
// The reason: since this generation began, brokers refuse commits of earlier ones. Commits that they accepted before
// are in transactions whose id has the first partition of a share that contains one of these partitions. That first
// partition is at most the last of these. EndOthers fences all ids up to it, which aborts or completes their
// transactions. Members of this generation with other partitions that use one of these ids must begin again.
func EndOthers(ctx context.Context, cfg Config) error {
	return endShares(ctx, cfg.Client, cfg.id(), cfg.Share)
}

// endShares fences the ids of all shares whose first partition is at most the last of share, or id
// itself if share is nil.
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

// A Pointer is a value in the topic of pointers: the current certificate of a name.
type Pointer struct {
	Format      string            `json:"format"`
	Name        string            `json:"name"`
	Certificate string            `json:"certificate"` // id
	Model       string            `json:"model"`       // SHA-256
	Predictor   certify.Predictor `json:"predictor"`   // that status and bound are about
	Status      certify.Status    `json:"status"`
	Bound       float64           `json:"bound"`
	Segments    []certify.Segment `json:"segments,omitempty"` // of the dataset
	// Source identifies the topic of the segments; zero if brokers report no identity.
	Source broker.Identity `json:"source,omitzero"`
}

// PointerFormat names the version of a [Pointer].
const PointerFormat = "pacsgp-pointer/1"

// A Publication sends artifacts, and last the pointer to one of them. Everything becomes durable
// and visible with Commit.
type Publication struct {
	*broker.Writer // its commits can include offsets of a group

	cfg             Config
	piece, document int       // largest size in bytes of a piece of a model, and of a certificate
	fresh           bool      // see Fresh
	key             *sign.Key // nil if certificates are not signed
}

// Fresh declares that no artifact from now on was published before. Put then does not search the
// topic of certificates for it.
func (p *Publication) Fresh() { p.fresh = true }

// Begin checks the topics and starts a producer. It aborts an open transaction of an earlier process with this name.
func Begin(ctx context.Context, cfg Config) (*Publication, error) {
	if cfg.Name == "" {
		return nil, errors.New("the model has no name to publish it under")
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

// Put sends a model and its certificate, unless that certificate was published before with the key's signature.
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
// signatures. Signatures are headers of the certificate's record, so that both appear together.
func (p *Publication) put(ctx context.Context, a stream.Artifact) error {
	if len(a.Document) > p.document {
		return fmt.Errorf("the certificate has %d bytes, and the topics %q and %q take %d: raise their max.message.bytes",
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

// Point sets the pointer of a name to a certificate that is put or was published before. required
// selects the claim for status and bound; "" means the one about predictions.
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

// Promote sets the pointer of a name to a published certificate, and returns the id of the one
// before. It takes the identity of the rows from an earlier pointer to this certificate. Without
// such a pointer it sets no identity, and no training starts from the model.
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
	Nowhere GroupAt = iota // no offset was committed, or the cluster has forgotten it
	AtBegin
	AtEnd
)

// Follows returns the position of a group. It returns [stream.ErrOvertaken] if another certificate
// of the same rows has moved the group: it is neither at the begin of the window, nor nowhere, nor
// at its end with all certificates ids published. Call it after [Begin] and before anything is
// sent: then no other process of that name can commit in between.
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
				return Nowhere, fmt.Errorf("topic %q: group %q is at the end of the window, and certificate %s is not published: %w", topic, group, id, stream.ErrOvertaken)
			}
		}
		return AtEnd, nil
	}
	found := AtBegin
	for _, i := range partitions {
		if at[i] >= 0 && at[i] != firsts[i] {
			return Nowhere, fmt.Errorf("topic %q, partition %d: the window begins at the offset %d, and group %q is at %d by now: %w", topic, i, firsts[i], group, at[i], stream.ErrOvertaken)
		}
		if at[i] < 0 {
			found = Nowhere
		}
	}
	return found, nil
}

// Abort ends an open transaction within seconds, even if ctx is done.
func (p *Publication) Abort(ctx context.Context) error { return abort(ctx, p.Writer) }

func (p *Publication) send(ctx context.Context, topic, subject string, r broker.Record) error {
	return sendTo(ctx, p.cfg.Client, p.Writer, topic, subject, r)
}

// sendTo sends a record to the partition that the hash of its subject selects.
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
