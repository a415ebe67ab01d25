package broker

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
)

// An Identity tells a topic from another one of the same name, made anew or on another cluster.
// Ids are as Kafka prints them; zero means that brokers do not tell both (before Kafka 2.8).
type Identity struct {
	Cluster string `json:"cluster"`
	Topic   string `json:"topic"`
}

// ErrAnother says that a topic was replaced: the same offsets are those of other rows.
var ErrAnother = errors.New("it was made anew, or is on another cluster")

// Same returns an error that is [ErrAnother] if both are known and differ. than ends the sentence
// "the topic is another one than …".
func (i Identity) Same(was Identity, topic, than string) error {
	if i == was || i == (Identity{}) || was == (Identity{}) {
		return nil
	}
	return fmt.Errorf("kafka: topic %q is another one than %s: that had the id %q on the cluster %q, this has %q on %q: %w", topic, than, was.Topic, was.Cluster, i.Topic, i.Cluster, ErrAnother)
}

// Identity asks a broker which topic has the name now.
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

// identityRequest asks for the metadata of a topic in version 10, the first one with ids, which
// kafka-go does not know.
type identityRequest string

type identityAnswer struct {
	Identity

	code kafka.Error
}

// ApiKey names the request.
func (identityRequest) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive,staticcheck // the library's name for it

// ApiKey names the request that is answered.
func (*identityAnswer) ApiKey() protocol.ApiKey { return protocol.Metadata } //nolint:revive,staticcheck // the library's name for it

// Required says that the library is to leave the request to RawExchange.
func (identityRequest) Required(map[protocol.ApiKey]int16) bool { return true }

const (
	identityVersion     = 10
	identityCorrelation = 1
	maxIdentityBytes    = 64 << 20 // of an answer, which names all partitions
)

// RawExchange asks whether the broker knows the version, and sends the request if it does.
func (r identityRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	message, err := protocol.RoundTrip(rw, 0, identityCorrelation, clientID, new(apiversions.Request))
	if err != nil {
		return nil, err
	}
	versions, ok := message.(*apiversions.Response)
	if !ok {
		return nil, errors.New("kafka: a broker does not tell the versions that it knows")
	}
	known := false
	for _, v := range versions.ApiKeys {
		known = known || protocol.ApiKey(v.ApiKey) == protocol.Metadata && v.MinVersion <= identityVersion && v.MaxVersion >= identityVersion
	}
	if !known {
		return &identityAnswer{}, nil
	}
	if _, err := rw.Write(r.encode()); err != nil {
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
	data, err := io.ReadAll(io.LimitReader(rw, size))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return decodeIdentity(data)
}

// encode is the request with its length: https://kafka.apache.org/protocol has the form.
func (r identityRequest) encode() []byte {
	b := []byte{0, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(protocol.Metadata))
	b = binary.BigEndian.AppendUint16(b, identityVersion)
	b = binary.BigEndian.AppendUint32(b, identityCorrelation)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(clientID))), clientID+"\x00"...) // no tags
	b = append(b, 2)                                                                        // one topic, of length + 1
	b = append(b, make([]byte, 16)...)                                                      // by its name, not by its id
	b = append(binary.AppendUvarint(b, uint64(len(r)+1)), r...)
	b = append(b, 0, 0, 0, 0, 0) // no tags; create no topic, tell no operations; no tags
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// decodeIdentity reads an answer up to the id of its first topic.
func decodeIdentity(data []byte) (*identityAnswer, error) {
	f := &fields{data}
	f.take(4) // correlation
	f.tags()
	f.take(4) // throttle time
	for range f.count() {
		f.take(4) // id of a broker
		f.text()
		f.take(4) // port
		f.text()
		if f.tags(); f.data == nil {
			break
		}
	}
	cluster := f.text()
	f.take(4) // controller
	topics := f.count()
	code := kafka.Error(int16(binary.BigEndian.Uint16(f.take(2))))
	f.text()
	id := f.take(16)
	if f.data == nil || topics != 1 {
		return nil, errors.New("kafka: an answer about a topic that is none")
	}
	answer := &identityAnswer{code: code}
	if cluster != "" && [16]byte(id) != [16]byte{} {
		answer.Identity = Identity{cluster, base64.RawURLEncoding.EncodeToString(id)}
	}
	return answer, nil
}

// fields are what is left of a message; nil: it was too short.
type fields struct{ data []byte }

// take returns the next n bytes, zeros if there are fewer.
func (f *fields) take(n int) []byte {
	if len(f.data) < n {
		f.data = nil
		return make([]byte, n)
	}
	taken := f.data[:n]
	f.data = f.data[n:]
	return taken
}

// number reads an unsigned number of any length.
func (f *fields) number() uint64 {
	v, n := binary.Uvarint(f.data)
	if n <= 0 || v > uint64(len(f.data)) {
		f.data = nil
		return 0
	}
	f.data = f.data[n:]
	return v
}

// count reads the number of elements of a list, or of bytes of a text.
func (f *fields) count() int { return max(int(f.number())-1, 0) }

func (f *fields) text() string { return string(f.take(f.count())) }

func (f *fields) tags() {
	for range f.number() {
		f.number() // which
		f.take(int(f.number()))
		if f.data == nil {
			return
		}
	}
}
