package serving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

func TestAnswers(t *testing.T) {
	var why error
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	s, err := Start(t.Context(), Config{Address: "127.0.0.1:0", Registry: registry, Ready: func() error { return why }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		path   string
		why    error
		status int
		says   string
	}{
		{"/livez", errors.New("no broker"), 200, "ok"},
		{"/readyz", nil, 200, "ok"},
		{"/readyz", errors.New("no broker"), 503, "no broker"},
		{"/metrics", nil, 200, "# HELP"},
		{"/debug/pprof/", nil, 404, ""},
	} {
		why = c.why
		if status, text := servingtest.Get(t, http.DefaultClient, "http://"+s.Address+c.path); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: status %d, %q, want %d, %q", c.path, status, text, c.status, c.says)
		}
	}
}

// What others could reach takes a token and an encrypted connection.
func TestStrangersAreKeptOut(t *testing.T) {
	for _, c := range []Config{
		{Address: "0.0.0.0:0"},
		{Address: ":0"},
		{Address: "[::]:0"},
		{Address: "metrics.example.org:0"},
		{Address: "192.168.1.1:0", Token: "t"},
		{Address: "0.0.0.0:0", Certificate: "c", Key: "k"},
		{Address: "nothing"},
		{Address: "127.0.0.1:0", Key: "k"},
	} {
		if err := c.Check(); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	for _, c := range []Config{{Address: "127.0.0.1:0"}, {Address: "[::1]:0"}, {Address: "localhost:0"}, {Address: ":0", Token: "t", Certificate: "c", Key: "k"}} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	certificate, key := pair(t)
	var why error
	s, err := Start(t.Context(), Config{Address: "127.0.0.1:0", Token: "secret", Certificate: certificate, Key: key, Profiles: true, Registry: prometheus.NewRegistry(), Ready: func() error { return why }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pem, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for token, want := range map[string]int{"secret": 200, "": 401, "secre": 401, "secrets": 401} {
		var header []string
		if token != "" {
			header = []string{"Authorization", "Bearer " + token}
		}
		for _, path := range []string{"/metrics", "/debug/pprof/", "/elsewhere"} {
			status, _ := servingtest.Get(t, client, "https://"+s.Address+path, header...)
			if want == 200 && path == "/elsewhere" {
				want = 404
			}
			if status != want {
				t.Errorf("%s with the token %q: status %d, want %d", path, token, status, want)
			}
		}
		// Probes have no token; why it is not ready is not for all.
		for _, c := range []struct {
			path   string
			why    error
			status int
		}{{"/livez", nil, 200}, {"/readyz", nil, 200}, {"/readyz", errors.New("no broker"), 503}} {
			why = c.why
			status, text := servingtest.Get(t, client, "https://"+s.Address+c.path, header...)
			if status != c.status || strings.Contains(text, "no broker") != (c.why != nil && token == "secret") {
				t.Errorf("%s with the token %q: status %d, %q, want %d", c.path, token, status, text, c.status)
			}
		}
	}
}

// pair is a certificate for loopback and its key, as files.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", "CERTIFICATE", der), write("tls.key", "PRIVATE KEY", bytes)
}

// Pages answer what nothing else does, and ask for the token themselves.
func TestPages(t *testing.T) {
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) })
	h := Config{Token: "secret", Pages: pages, Registry: prometheus.NewRegistry(), Ready: func() error { return nil }}.handler()
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/": {200, "page /"}, "/login": {200, "page /login"}, "/metrics": {401, "token"}, "/livez": {200, "ok"}, "/debug/pprof/": {401, "token"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%s: status %d, %q", path, w.Code, w.Body)
		}
	}
}
