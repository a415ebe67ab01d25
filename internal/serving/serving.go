// Package serving is the HTTP server of all commands: pages, metrics, liveness and readiness. Only this machine can
// see the pages. Anyone who can reach the address can see metrics and readiness, which are not secret.
package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config sets up a [Server]. Only Address is required.
type Config struct {
	Address string // host:port

	// Registry, if not nil, is served at /metrics.
	Registry *prometheus.Registry
	// Ready, if not nil, returns why a service cannot do its work now, or nil if it can.
	Ready func() error
	// Pages, if not nil, handles all other paths, for this machine alone.
	Pages http.Handler
}

// Check returns an error unless the address is host:port.
func (c Config) Check() error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("%q: want host:port, as in 127.0.0.1:9464", c.Address)
	}
	return nil
}

// A Server serves until it is closed.
type Server struct {
	Address string // host:port, with the port in use
	URL     string // http:// and Address

	http *http.Server
	done chan error // capacity 1: the error that ended it
}

// Start listens and serves. The caller must close the server.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: l.Addr().String(), URL: "http://" + l.Addr().String(), done: make(chan error, 1)}
	s.http = &http.Server{ // pages render in milliseconds; slower clients are cut off
		Handler: c.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

// Close stops the server and cuts off pending answers. If the server had failed before, it returns that error.
func (s *Server) Close() error {
	err := s.http.Close()
	if ended := <-s.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(ended, err)
	}
	return err
}

func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if c.Ready != nil {
			if err := c.Ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	if c.Registry != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(c.Registry, promhttp.HandlerOpts{}))
	}
	if c.Pages != nil {
		mux.Handle("/", guard(c.Pages))
	}
	return mux
}

// headers restrict browsers: a page may load its style sheet and its icon, and run no script.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
}

// guard serves pages to this machine alone, with headers that restrict browsers.
func guard(pages http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range headers {
			h.Set(name, value)
		}
		switch {
		case !local(r):
			http.Error(w, "pages are for browsers on this machine: ask for localhost, or forward the port by SSH", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "pages are only read", http.StatusMethodNotAllowed)
		default:
			pages.ServeHTTP(w, r)
		}
	}))
}

// local reports whether a request comes from this machine and has a loopback name as host: a
// foreign web page could make its own name point here.
func local(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	at, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && at.IsLoopback()
}
