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

// Config says how to reach a cluster.
type Config struct {
	Brokers  []string // host:port, at least one
	TLS      *tls.Config
	SASL     sasl.Mechanism
	Patience time.Duration // how long a failing request is retried; zero means one minute
	// Warning, if not nil, receives once why requests have been failing for some seconds. It is
	// called from the goroutine of a request.
	Warning func(text string)
}

// A Client speaks to one cluster. Its methods may be called from several goroutines.
type Client struct {
	kafka  *kafka.Client
	link   *kafka.Transport
	config Config
	once   sync.Once
}

// clientID is the name that brokers see.
const clientID = "pacsgp"

// requestTimeout bounds one request, its wait for rows included.
const requestTimeout = 30 * time.Second

// NewClient returns a client. It connects when it is first used.
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
			// Not 6 s, the default, which hides new leaders and topics. It also bounds the wait
			// for metadata.
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

// ErrNoTopic says that the cluster has no such topic, or that the user may not see it.
var ErrNoTopic = errors.New("there is no such topic, or it may not be read")

// A new topic is not known to all brokers at once, and no topic to a broker that has just begun:
// after unknownFor it counts as missing. Metadata is up to metadataAge old.
const (
	metadataAge = 2 * time.Second
	unknownFor  = 10 * time.Second
)

// Partitions returns the numbers of a topic's partitions, ascending.
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
		return nil, fmt.Errorf("kafka: topic %q: %w", topic, err)
	}
	slices.Sort(found)
	return found, nil
}
