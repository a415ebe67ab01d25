package broker

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An Identity distinguishes a topic from another one of the same name, created again or on another
// cluster. Ids are in Kafka's form. It is zero if brokers do not report both (before Kafka 2.8).
type Identity struct {
	Cluster string `json:"cluster"`
	Topic   string `json:"topic"`
}

// ErrAnother means that a topic was replaced: its offsets now belong to other rows.
var ErrAnother = errors.New("it was made again, or is on another cluster")

// Same returns [ErrAnother] if both are known and differ. than completes the message "the topic is another one than …".
func (i Identity) Same(was Identity, topic, than string) error {
	if i == was || i == (Identity{}) || was == (Identity{}) {
		return nil
	}
	return fmt.Errorf("topic %q is another one than %s: that had the id %q on the cluster %q, this has %q on %q: %w", topic, than, was.Topic, was.Cluster, i.Topic, i.Cluster, ErrAnother)
}

// Same returns [ErrAnother] if the topic that has the name now is another one than was, if both are
// known. than is as for [Identity.Same].
func (c *Client) Same(ctx context.Context, was Identity, topic, than string) error {
	is, err := c.Identity(ctx, topic)
	if err == nil {
		err = is.Same(was, topic, than)
	}
	return err
}

// Identity returns the identity of the topic that has the name now.
func (c *Client) Identity(ctx context.Context, topic string) (Identity, error) {
	var found Identity
	err := c.Retry(ctx, ofTopic(topic, func(ctx context.Context) error {
		answer, err := exchange[*identityAnswer](ctx, c, identityRequest(topic))
		if err != nil {
			return err
		}
		if answer.code != 0 {
			return answer.code
		}
		found = answer.Identity
		return nil
	}))
	if err != nil {
		return Identity{}, fmt.Errorf("kafka: id of topic %q: %w", topic, err)
	}
	return found, nil
}

// identityRequest asks for the metadata of a topic in version 10, the first one with ids. kafka-go
// does not support that version.
type identityRequest string

type identityAnswer struct {
	Identity

	code kafka.Error
}

func (identityRequest) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive,staticcheck // the library's name for it

func (*identityAnswer) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive,staticcheck // the library's name for it

// Required makes the library leave the request to RawExchange.
func (identityRequest) Required(map[protocol.ApiKey]int16) bool { return true }

const (
	identityVersion     = 10
	identityCorrelation = 1
	maxIdentityBytes    = 1 << 20 // of an answer, which lists all brokers and partitions; decoding can need many times as much memory
)

// RawExchange sends the request if the broker supports its version.
func (r identityRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	message, err := protocol.RoundTrip(rw, 0, identityCorrelation, clientID, new(apiversions.Request))
	if err != nil {
		return nil, err
	}
	versions, ok := message.(*apiversions.Response)
	if !ok {
		return nil, errors.New("kafka: a broker does not tell the versions that it knows")
	}
	if !slices.ContainsFunc(versions.ApiKeys, func(v apiversions.ApiKeyResponse) bool {
		return protocol.ApiKey(v.ApiKey) == protocol.Metadata && v.MinVersion <= identityVersion && v.MaxVersion >= identityVersion
	}) {
		return &identityAnswer{}, nil
	}
	ask, topic, name := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic(), string(r)
	topic.Topic = &name
	ask.Version, ask.Topics, ask.AllowAutoTopicCreation = identityVersion, []kmsg.MetadataRequestTopic{topic}, false
	if _, err := rw.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, ask, identityCorrelation)); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > maxIdentityBytes {
		return nil, fmt.Errorf("kafka: an answer of %d bytes about a topic", size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(rw, data); err != nil {
		return nil, err
	}
	return decodeIdentity(data)
}

// identityHead is the size of an answer's header: the correlation id, and no tags.
const identityHead = 5

func decodeIdentity(data []byte) (*identityAnswer, error) {
	answer := kmsg.NewPtrMetadataResponse()
	answer.Version = identityVersion
	if len(data) < identityHead || data[identityHead-1] != 0 || answer.ReadFrom(data[identityHead:]) != nil || len(answer.Topics) != 1 {
		return nil, errors.New("kafka: an answer about a topic that is none")
	}
	topic := answer.Topics[0]
	found := &identityAnswer{code: kafka.Error(topic.ErrorCode)}
	if answer.ClusterID != nil && *answer.ClusterID != "" && topic.TopicID != [16]byte{} {
		found.Identity = Identity{*answer.ClusterID, base64.RawURLEncoding.EncodeToString(topic.TopicID[:])}
	}
	return found, nil
}
