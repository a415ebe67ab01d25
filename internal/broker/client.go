package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/sasl"
)

// Config says how to reach a cluster.
type Config struct {
	Brokers  []string // host:port, at least one
	TLS      *tls.Config
	SASL     sasl.Mechanism
	Patience time.Duration // how long a failing request is tried again; zero means one minute
}

// A Client speaks to one cluster. Its methods may be called from several goroutines.
type Client struct {
	Kafka    *kafka.Client
	link     *kafka.Transport
	patience time.Duration
	names    string // of the brokers, for messages
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
			// The default of 6 s would hide new leaders and new topics for as long.
			MetadataTTL: 500 * time.Millisecond,
		},
		patience: cfg.Patience,
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

// Retry calls a request until it succeeds, fails for good, or the client's patience is
// at an end. It is for requests that may be made twice.
func (c *Client) Retry(ctx context.Context, request func(context.Context) error) error {
	ends := time.Now().Add(c.patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := request(ctx)
		if errors.Is(err, kafka.SASLAuthenticationFailed) {
			return fmt.Errorf("kafka: %s: user or password is wrong: %w", c.names, err)
		}
		if err == nil || ctx.Err() != nil || !Temporary(err) {
			return errors.Join(ctx.Err(), err)
		}
		if time.Now().Add(pause).After(ends) {
			if errors.Is(err, kafka.BrokerNotAvailable) { // the library does not say why
				err = errors.New("no broker answers: are the addresses right, and do the brokers speak without TLS if none is declared?")
			}
			return fmt.Errorf("kafka: %s: given up after %v: %w", c.names, c.patience, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Temporary reports whether a request that failed may succeed when it is made again:
// a broker is away, or a topic has no leader or a coordinator no answer just now.
func Temporary(err error) bool {
	if coded, ok := errors.AsType[kafka.Error](err); ok {
		return coded.Temporary() || coded.Timeout() || coded == kafka.UnknownTopicOrPartition || coded == kafka.BrokerNotAvailable ||
			coded == kafka.GroupLoadInProgress || coded == kafka.GroupCoordinatorNotAvailable ||
			coded == kafka.NotCoordinatorForGroup || coded == concurrentTransactions
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, protocol.ErrNoLeader) || errors.Is(err, protocol.ErrNoTopic) ||
		errors.Is(err, protocol.ErrNoPartition)
}

const concurrentTransactions = kafka.Error(51)

// ErrNoTopic says that the cluster has no such topic, or that the user may not see it.
var ErrNoTopic = errors.New("there is no such topic, or it may not be read")

// Partitions returns the numbers of a topic's partitions, ascending.
func (c *Client) Partitions(ctx context.Context, topic string) ([]int, error) {
	var found []int
	missing := 0
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
				if missing++; missing > 10 { // a topic that was just made is not known at once
					return ErrNoTopic
				}
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
	if err != nil {
		return nil, fmt.Errorf("kafka: topic %q: %w", topic, err)
	}
	return sorted(found), nil
}
