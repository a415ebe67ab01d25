package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
)

// Config sets up a [Client].
type Config struct {
	Brokers  []string // host:port, at least one
	TLS      *tls.Config
	SASL     sasl.Mechanism
	Patience time.Duration // how long a failing request is retried; zero means one minute
	// Warning, if not nil, is called once, when requests have failed for some seconds, with the
	// reason. The call comes from the goroutine of a request.
	Warning func(text string)
}

// A Client speaks to one cluster. Its methods may be called from several goroutines.
type Client struct {
	kafka  *kafka.Client
	link   *kafka.Transport
	config Config
	once   sync.Once
}

// clientID is the client's name for brokers.
const clientID = "pacsgp"

// requestTimeout bounds one request, including the wait for rows.
const requestTimeout = 30 * time.Second

// NewClient returns a client. It connects at its first request.
func NewClient(cfg Config) (*Client, error) {
	if len(cfg.Brokers) == 0 {
		return nil, errors.New("kafka: no broker is named")
	}
	for _, address := range cfg.Brokers {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("kafka: broker %q: want host:port", address)
		}
	}
	if cfg.Patience <= 0 {
		cfg.Patience = time.Minute
	}
	c := &Client{
		link: &kafka.Transport{
			TLS: cfg.TLS, SASL: cfg.SASL, ClientID: clientID,
			// The default, 6 s, hides new leaders and topics. This also bounds the wait for metadata.
			MetadataTTL: metadataAge,
		},
		config: cfg,
	}
	c.kafka = &kafka.Client{Addr: kafka.TCP(cfg.Brokers...), Timeout: requestTimeout, Transport: c.link}
	return c, nil
}

// Close closes the connections.
func (c *Client) Close() error {
	c.link.CloseIdleConnections()
	return nil
}

// ErrNoTopic means that the cluster does not have the topic, or that the user may not see it.
var ErrNoTopic = errors.New("there is no such topic, or it may not be read")

// It takes a moment until all brokers know a new topic, and until a restarted broker knows any:
// only after unknownFor does a topic count as missing. Metadata is up to metadataAge old.
const (
	metadataAge = 2 * time.Second
	unknownFor  = 10 * time.Second
)

// Partitions returns the numbers of a topic's partitions in ascending order.
func (c *Client) Partitions(ctx context.Context, topic string) ([]int, error) {
	var found []int
	err := c.Retry(ctx, ofTopic(topic, ask(c.kafka.Metadata, kafka.MetadataRequest{Topics: []string{topic}}, func(answer *kafka.MetadataResponse) error {
		found = found[:0]
		for _, t := range answer.Topics {
			if t.Name != topic {
				continue
			}
			if t.Error != nil {
				return t.Error
			}
			for _, p := range t.Partitions {
				if p.Error != nil {
					return p.Error
				}
				found = append(found, p.ID)
			}
		}
		if len(found) == 0 {
			return kafka.UnknownTopicOrPartition
		}
		return nil
	})))
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	slices.Sort(found)
	return found, nil
}
