package brokertest

import (
	"context"
	"io"
	"net"
	"sync/atomic"
)

// A Gate is a proxy in front of a broker, which advertises the gate's address. It reports each piece of the requests
// before it forwards it, so that a test can act at, say, the third one and needs no timer.
type Gate struct {
	Address string

	to        string
	onRequest atomic.Pointer[func()]
}

func (g *Gate) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go g.pass(conn) // ends with its connections
	}
}

// OnRequest sets a function that is called, from several goroutines, before each piece of the requests is forwarded.
func (g *Gate) OnRequest(onRequest func()) { g.onRequest.Store(&onRequest) }

// pass forwards the requests of a connection and the answers to them.
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

// gated writes to the broker.
type gated struct {
	io.Writer
	by *Gate
}

// Write reports a piece of the requests, then forwards it.
func (w gated) Write(b []byte) (int, error) {
	if onRequest := w.by.onRequest.Load(); onRequest != nil {
		(*onRequest)()
	}
	return w.Writer.Write(b)
}
