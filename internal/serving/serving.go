// Package serving answers those who run a service: whether it lives, whether it is ready,
// and its metrics.
package serving

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config says where answers are to be had. What may be asked from other machines takes a
// token and an encrypted connection.
type Config struct {
	Address          string // host:port
	Token            string // that requests carry, as in Authorization: Bearer TOKEN; "": none
	Certificate, Key string // PEM files; "": connections are not encrypted
	Profiles         bool   // whether /debug/pprof/ is there

	Registry *prometheus.Registry
	// Ready says why the service cannot do its work just now; nil: it can.
	Ready func() error
	// Pages answers what nothing else does, and asks for the token itself; nil: nothing does.
	Pages http.Handler
}

// ErrOpen says that anybody could ask.
var ErrOpen = errors.New("beyond loopback, it needs a token, a certificate and its key")

// Check reports whether the configuration keeps strangers out.
func (c Config) Check() error {
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return fmt.Errorf("%q: want host:port, as in 127.0.0.1:9464", c.Address)
	}
	if (c.Certificate == "") != (c.Key == "") {
		return errors.New("certificate and key go together")
	}
	at, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && at.IsLoopback()
	if !local && (c.Token == "" || c.Certificate == "") {
		return fmt.Errorf("%q: %w", c.Address, ErrOpen)
	}
	return nil
}

// A Server answers until it is closed.
type Server struct {
	Address string // with the port that it has

	http *http.Server
	done chan struct{}
}

// Start begins to answer. It reads the files before it returns.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: l.Addr().String(), done: make(chan struct{})}
	s.http = &http.Server{Handler: c.handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	if c.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l = tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}})
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // always ends with an error: that of Close
	}()
	return s, nil
}

// Close ends the answers.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// handler answers. Whether the service lives and is ready is no secret, and who asks that
// machines run by it, as Kubernetes does, has no token to send; the reason is for those that
// have it.
func (c Config) handler() http.Handler {
	mux := http.NewServeMux()
	want := sha256.Sum256([]byte("Bearer " + c.Token))
	trusted := func(r *http.Request) bool {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		return c.Token == "" || subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := c.Ready()
		switch {
		case err == nil:
			_, _ = fmt.Fprintln(w, "ok")
		case trusted(r):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			http.Error(w, "not ready: the reason takes a token", http.StatusServiceUnavailable)
		}
	})
	private := http.NewServeMux()
	private.Handle("GET /metrics", promhttp.HandlerFor(c.Registry, promhttp.HandlerOpts{}))
	if c.Profiles {
		private.HandleFunc("GET /debug/pprof/", pprof.Index)
		private.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		private.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		private.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trusted(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is wanted", http.StatusUnauthorized)
			return
		}
		private.ServeHTTP(w, r)
	})
	if c.Pages == nil {
		mux.Handle("/", guarded)
		return mux
	}
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		mux.Handle(path, guarded)
	}
	mux.Handle("/", c.Pages)
	return mux
}
