// Package serving is the HTTP server of all commands: pages, metrics, and whether a service
// lives and is ready. Loopback is open to everybody on the machine; other addresses need a
// token and TLS.
package serving

import (
	"context"
	"crypto/tls"
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

	"github.com/pacsgp/pacsgp/internal/durable"
)

// Config says where the server listens, who is admitted, and what is served. All but
// Address and Pages may be left out.
type Config struct {
	Address          string // host:port
	TokenFile        string // holds the token that requests carry, as in Authorization: Bearer TOKEN; "": none
	Certificate, Key string // PEM files; "": no TLS

	// Registry is served at /metrics.
	Registry *prometheus.Registry
	// Ready returns why a service cannot do its work now, or nil.
	Ready func() error
	// Pages handles all other paths. Without the token only its /login, which shows a form,
	// and its /assets/ are served.
	Pages http.Handler
}

// Timeouts of a connection. Pages render in milliseconds; slower clients are cut off.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
)

// ErrOpen says that strangers could reach the server.
var ErrOpen = errors.New("beyond loopback, it needs a token, a certificate and its key")

// Check reports whether the configuration keeps strangers out. It reads no file.
func (c Config) Check() error {
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return fmt.Errorf("%q: want host:port, as in 127.0.0.1:9464", c.Address)
	}
	if (c.Certificate == "") != (c.Key == "") {
		return errors.New("certificate and key go together")
	}
	at, err := netip.ParseAddr(host)
	if local := host == "localhost" || err == nil && at.IsLoopback(); !local && c.open() {
		return fmt.Errorf("%q: %w", c.Address, ErrOpen)
	}
	return nil
}

// open reports whether no token is asked for, or it could be overheard.
func (c Config) open() bool { return c.TokenFile == "" || c.Certificate == "" }

// A Server answers until it is closed.
type Server struct {
	Address string // with the port that it has
	URL     string // with the scheme, without a path

	http *http.Server
	done chan error // capacity 1: how it ended
}

// Start reads the files, listens and begins to answer. The caller closes the server.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &Server{done: make(chan error, 1)}
	token, err := readToken(c.TokenFile)
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler: c.handler(token), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	scheme, serve := "http", s.http.Serve
	if c.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
		if err != nil {
			return nil, err
		}
		s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		scheme, serve = "https", func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() && c.open() { // localhost may be another address
		return nil, errors.Join(fmt.Errorf("%v: %w", l.Addr(), ErrOpen), l.Close())
	}
	s.Address = l.Addr().String()
	s.URL = scheme + "://" + s.Address
	go func() { s.done <- serve(l) }()
	return s, nil
}

// Close ends the server, with answers that are under way. It returns what had ended it
// before, if anything had.
func (s *Server) Close() error {
	err := s.http.Close()
	if ended := <-s.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(ended, err)
	}
	return err
}

// shortestToken is how many characters a token has at least.
const shortestToken = 16

// readToken returns the token in a file; "" for no file.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := durable.ReadSmall(path, "a token", 1<<12)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < shortestToken {
		return "", fmt.Errorf("%s: a token has at least %d characters", path, shortestToken)
	}
	return token, nil
}

// handler serves everything. Probes, as those of Kubernetes, have no token to send: whether
// a service lives and is ready is open to all, and only the reason takes the token.
func (c Config) handler(token string) http.Handler {
	g := c.guard(token)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		var err error
		if c.Ready != nil {
			err = c.Ready()
		}
		switch {
		case err == nil:
			_, _ = fmt.Fprintln(w, "ok")
		case g.admits(r):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			http.Error(w, "not ready: the reason takes a token", http.StatusServiceUnavailable)
		}
	})
	if c.Registry != nil {
		metrics := promhttp.HandlerFor(c.Registry, promhttp.HandlerOpts{})
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			if !g.admits(r) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "a token is wanted", http.StatusUnauthorized)
				return
			}
			metrics.ServeHTTP(w, r)
		})
	}
	mux.Handle("/", g.wrap(c.Pages))
	return mux
}
