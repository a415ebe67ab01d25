package brokertest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// A Gate is before a broker, which advertises its address, and reports every
// request before it lets it through. So a test can let something happen at the third
// fetch, and not after so many milliseconds.
type Gate struct {
	Address string

	to        string
	onRequest atomic.Pointer[func(key int16)]
}

// listen returns a gate that is not served yet, and its listener.
func listen(t testing.TB) (net.Listener, *Gate) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, &Gate{Address: l.Addr().String()}
}

// serve lets connections through until the listener is closed.
func (g *Gate) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go g.pass(conn) // ends with its connections
	}
}

// OnRequest sets what receives the key of each request, from several goroutines. The request
// waits until the call returns.
func (g *Gate) OnRequest(onRequest func(key int16)) { g.onRequest.Store(&onRequest) }

// pass hands the requests of a connection on, and their answers back.
func (g *Gate) pass(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", g.to)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() {
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}()
	var head [6]byte // length and key
	for {
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		if onRequest := g.onRequest.Load(); onRequest != nil {
			(*onRequest)(int16(binary.BigEndian.Uint16(head[4:])))
		}
		if _, err := to.Write(head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(head[:]))-2); err != nil {
			return
		}
	}
}
