package broker_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// listen is the address of a listener that deals with each connection so.
func listen(t *testing.T, with func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go with(conn)
		}
	}()
	return l.Addr().String()
}

// TestUnreachable: unreachable brokers are reported after some seconds, and the error at the end
// names address and remedy.
func TestUnreachable(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until no broker was found, which takes seconds by design")
	}
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	fatal.If(t, closed.Close())
	silent := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	secure := func(conn net.Conn) {
		_ = tls.Server(conn, &tls.Config{}).HandshakeContext(t.Context())
		_ = conn.Close()
	}
	for name, c := range map[string]struct {
		address string
		want    string
	}{
		"closed":    {closed.Addr().String(), "connection refused"},
		"silent":    {listen(t, silent), "does not answer"},
		"wants TLS": {listen(t, secure), "speaks without TLS"},
		"no name":   {"broker.invalid:9092", "broker.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reported atomic.Pointer[string]
			client := newClient(t, broker.Config{Brokers: []string{c.address}, Patience: 6 * time.Second, Warning: func(text string) {
				if !reported.CompareAndSwap(nil, &text) {
					t.Error("reported twice")
				}
			}})
			for range 2 {
				_, err := client.Partitions(t.Context(), "rows")
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.address) || !strings.Contains(err.Error(), "hint: ") {
					t.Errorf("%v, want one that has %q, the address and a hint", err, c.want)
				}
			}
			if reported.Load() == nil || !strings.Contains(*reported.Load(), c.want) || !strings.Contains(*reported.Load(), "tried again until 6s are over") {
				t.Fatalf("reported %v, want %q", reported.Load(), c.want)
			}
		})
	}
}

// TestPatience: a request is made again until patience is over, not until the next pause would be
// longer than the rest of it.
func TestPatience(t *testing.T) {
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	fatal.If(t, closed.Close())
	const patience = time.Second // the pauses up to then are 0.05, 0.1, 0.2 and 0.4 s
	client := newClient(t, broker.Config{Brokers: []string{closed.Addr().String()}, Patience: patience})
	began := time.Now()
	if err := client.Retry(t.Context(), func(context.Context) error { return io.EOF }); err == nil || time.Since(began) < patience {
		t.Errorf("%v after %v, want an error after %v", err, time.Since(began), patience)
	}
}

// TestTLSWithoutTLS: a broker without TLS closes the connection at the first message of a handshake. The
// error says so, not only that the connection has ended.
func TestTLSWithoutTLS(t *testing.T) {
	closes := func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1<<10))
		_ = conn.Close()
	}
	client := newClient(t, broker.Config{Brokers: []string{listen(t, closes)}, Patience: time.Millisecond, TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	if _, err := client.Partitions(t.Context(), "rows"); err == nil || !strings.Contains(err.Error(), "it does not speak TLS, which is declared") {
		t.Error(err)
	}
}
