package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Retry repeats a request until it succeeds, fails with an error that is not [Temporary], or the
// client's patience ends. The request must be safe to repeat.
func (c *Client) Retry(ctx context.Context, request func(context.Context) error) error {
	began := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := request(ctx)
		if errors.Is(err, kafka.SASLAuthenticationFailed) {
			return fmt.Errorf("kafka: %v: user or password is wrong: %w", c.config.Brokers, err)
		}
		if err == nil || ctx.Err() != nil || !Temporary(err) {
			return errors.Join(ctx.Err(), err)
		}
		after := time.Since(began)
		left := c.config.Patience - after
		if left <= 0 {
			if reason := c.unreachable(ctx); reason != nil {
				return reason
			}
			if c.config.SASL == nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
				err = fmt.Errorf("the broker closes the connection: does it demand a user and a password, as sasl declares them? %w", err)
			}
			return fmt.Errorf("kafka: %v: stopped trying after %v: %w", c.config.Brokers, c.config.Patience, err)
		}
		if after >= warnAfter && c.config.Warning != nil {
			c.once.Do(func() { c.warn(ctx, err) })
		}
		if stopped := Pause(ctx, min(pause, left)); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

// ask returns a request of the library as a function for Retry.
func ask[Q, A any](do func(context.Context, *Q) (*A, error), request Q, verdict func(*A) error) func(context.Context) error {
	return func(ctx context.Context) error {
		answer, err := do(ctx, &request)
		if err != nil {
			return err
		}
		return verdict(answer)
	}
}

// exchange makes one request of the protocol.
func exchange[A protocol.Message](ctx context.Context, c *Client, request protocol.Message) (answer A, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	message, err := c.link.RoundTrip(ctx, c.kafka.Addr, request)
	if err != nil {
		return answer, err
	}
	answer, ok := message.(A)
	if !ok {
		return answer, fmt.Errorf("kafka: an answer of type %T", message)
	}
	return answer, nil
}

// Pause waits for a duration. It returns the context's error if ctx is done first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// warnAfter is how long requests fail before Warning is called.
const warnAfter = 3 * time.Second

// warn calls Warning with why requests fail, and how long they are retried.
func (c *Client) warn(ctx context.Context, err error) {
	if reason := c.unreachable(ctx); reason != nil {
		err = reason
	}
	patience := c.config.Patience
	if errors.Is(err, errUnknown) {
		patience = min(patience, unknownFor)
	}
	c.config.Warning(fmt.Sprintf("%v; it is tried again until %v are over", err, patience))
}

var errUnknown = errors.New("the brokers do not know it")

// ofTopic returns a request about a topic as a function for one call of Retry. While brokers do not
// know the topic, its error names it; after unknownFor it is ErrNoTopic.
func ofTopic(topic string, request func(context.Context) error) func(context.Context) error {
	var unknown time.Time // the time of the first such error
	return func(ctx context.Context) error {
		err := request(ctx)
		switch {
		case !errors.Is(err, kafka.UnknownTopicOrPartition) && !errors.Is(err, protocol.ErrNoTopic):
			unknown = time.Time{}
			return err
		case unknown.IsZero():
			unknown = time.Now()
		case time.Since(unknown) >= unknownFor:
			return ErrNoTopic
		}
		return fmt.Errorf("topic %q: %w: %w", topic, errUnknown, err)
	}
}

// unreachable returns why no named broker answers, or nil if one does. The library does not say.
func (c *Client) unreachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	reasons := make([]error, len(c.config.Brokers))
	var all sync.WaitGroup
	for i, address := range c.config.Brokers {
		all.Go(func() { reasons[i] = c.greet(ctx, address) })
	}
	all.Wait()
	if slices.Contains(reasons, nil) {
		return nil
	}
	return fmt.Errorf("kafka: no broker answers (%w); are the addresses right, and do the brokers run? (hint: kafka.brokers of the file, or --kafka)", errors.Join(reasons...))
}

// greet asks a broker for its protocol versions, which needs no password. A broker that wants TLS
// closes the connection.
func (c *Client) greet(ctx context.Context, address string) error {
	conn, err := (&kafka.Dialer{ClientID: clientID, TLS: c.config.TLS}).DialContext(ctx, "tcp", address)
	switch {
	case c.config.TLS != nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return fmt.Errorf("%s: it does not speak TLS, which is declared: %w", address, err)
	case err != nil:
		return fmt.Errorf("%s: %w", address, err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // without it, only the broker could end the wait
	}
	_, err = conn.ApiVersions()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // a busy broker
		return fmt.Errorf("%s: it does not answer as a broker does: %w", address, err)
	case err != nil && c.config.TLS == nil:
		return fmt.Errorf("%s: it is no broker that speaks without TLS, and none is declared: %w", address, err)
	case err != nil:
		return fmt.Errorf("%s: it is no broker: %w", address, err)
	}
	return nil
}

// Temporary reports whether a retry may help: a broker is away, or a leader or coordinator is missing for the moment.
func Temporary(err error) bool {
	if coded, ok := errors.AsType[kafka.Error](err); ok {
		return coded.Temporary() || coded.Timeout() || coded == kafka.UnknownTopicOrPartition || coded == kafka.BrokerNotAvailable ||
			coded == kafka.GroupLoadInProgress || coded == kafka.GroupCoordinatorNotAvailable ||
			coded == kafka.NotCoordinatorForGroup || coded == kafka.ConcurrentTransactions
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
