package brokertest

import (
	"context"
	"io"
	"net"
	"sync/atomic"
)

// A Gate is before a broker, which advertises its address, and reports every piece of requests before
// it lets it through. So a test can let something happen at the third one, and not after so many
// milliseconds.
type Gate struct {
	Address string

	to        string
	onRequest atomic.Pointer[func()]
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

// OnRequest sets what is called for each piece of requests, by several goroutines. The piece waits until
// the call returns.
func (g *Gate) OnRequest(onRequest func()) { g.onRequest.Store(&onRequest) }

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
	_, _ = io.Copy(gated{to, g}, from)
}

// gated is the way to the broker.
type gated struct {
	io.Writer
	by *Gate
}

// Write reports a piece of requests, and lets it through.
func (w gated) Write(b []byte) (int, error) {
	if onRequest := w.by.onRequest.Load(); onRequest != nil {
		(*onRequest)()
	}
	return w.Writer.Write(b)
}
