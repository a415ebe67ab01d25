package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
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
	Patience time.Duration // how long a failing request is tried again; zero means one minute
	// Told hears once why requests have been failing for some seconds, while they are
	// made again; nil: nobody. It is called from the goroutine of a request.
	Told func(text string)
}

// A Client speaks to one cluster. Its methods may be called from several goroutines.
type Client struct {
	Kafka    *kafka.Client
	link     *kafka.Transport
	patience time.Duration
	config   Config
	names    string // of the brokers, for messages
	once     sync.Once
	topics   sync.Map // those that were there, by name
}

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
	c := &Client{
		link: &kafka.Transport{
			TLS: cfg.TLS, SASL: cfg.SASL, ClientID: "pacsgp",
			// The default of 6 s would hide new leaders and new topics for as long. It is
			// also the time that an answer about the cluster may take.
			MetadataTTL: metadataAge,
		},
		patience: cfg.Patience,
		config:   cfg,
		names:    fmt.Sprint(cfg.Brokers),
	}
	if c.patience <= 0 {
		c.patience = time.Minute
	}
	c.Kafka = &kafka.Client{Addr: kafka.TCP(cfg.Brokers...), Timeout: requestTimeout, Transport: c.link}
	return c, nil
}

// Close closes the connections.
func (c *Client) Close() error {
	c.link.CloseIdleConnections()
	return nil
}

// ErrNoTopic says that the cluster has no such topic, or that the user may not see it.
var ErrNoTopic = errors.New("there is no such topic, or it may not be read")

// How long a topic is looked for that the brokers say is not there: one that was just made is
// not known to all of them at once, and one that was there before to a broker that begins. What
// the library knows is up to metadataAge old.
const (
	metadataAge = 2 * time.Second
	newTopic    = 3 * metadataAge
	knownTopic  = 10 * time.Second
)

// Partitions returns the numbers of a topic's partitions, ascending. That there is none is
// said after six seconds, or ten of a topic that was there before and of brokers that were away.
func (c *Client) Partitions(ctx context.Context, topic string) ([]int, error) {
	var unknown time.Time // since when
	patience := newTopic
	if _, ok := c.topics.Load(topic); ok {
		patience = knownTopic
	}
	for {
		asked := time.Now()
		found, err := c.partitions(ctx, topic)
		if errors.Is(err, errUnknown) {
			if time.Since(asked) >= metadataAge { // it waited for brokers, which have just begun
				patience, unknown = knownTopic, time.Time{}
			}
			if unknown.IsZero() {
				unknown = time.Now()
			}
		}
		switch {
		case errors.Is(err, errUnknown) && time.Since(unknown) >= patience:
			err = ErrNoTopic
		case errors.Is(err, errUnknown):
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(metadataAge / 10):
			}
			continue
		case err == nil:
			c.topics.Store(topic, true)
			return found, nil
		}
		return nil, fmt.Errorf("kafka: topic %q: %w", topic, err)
	}
}

var errUnknown = errors.New("the brokers do not know it")

// partitions is Partitions of a topic that the brokers know, and else errUnknown.
func (c *Client) partitions(ctx context.Context, topic string) ([]int, error) {
	var found []int
	err := c.Retry(ctx, func(ctx context.Context) error {
		answer, err := c.Kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		if err != nil {
			return err
		}
		found = found[:0]
		for _, t := range answer.Topics {
			if t.Name != topic {
				continue
			}
			if errors.Is(t.Error, kafka.UnknownTopicOrPartition) {
				return errUnknown
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
			return ErrNoTopic
		}
		return nil
	})
	return sorted(found), err
}
