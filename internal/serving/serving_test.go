package serving

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

func TestAnswers(t *testing.T) {
	var why error
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	s, err := Start(t.Context(), Config{Address: "127.0.0.1:0", Registry: registry, Ready: func() error { return why }, Pages: pages})
	fatal.If(t, err)
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
	} {
		why = c.why
		if status, text := servingtest.Get(t, http.DefaultClient, s.URL+c.path); status != c.status || !strings.Contains(text, c.says) {
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
		{Address: "192.168.1.1:0", TokenFile: "t"},
		{Address: "0.0.0.0:0", Certificate: "c", Key: "k"},
		{Address: "nothing"},
		{Address: "127.0.0.1:0", Key: "k"},
	} {
		if err := c.Check(); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	for _, c := range []Config{{Address: "127.0.0.1:0"}, {Address: "[::1]:0"}, {Address: "localhost:0"}, {Address: ":0", TokenFile: "t", Certificate: "c", Key: "k"}} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	certificate, key, client := servingtest.SelfSigned(t)
	var why error
	const secret = "a-token-of-some-length"
	s, err := Start(t.Context(), Config{
		Address: "127.0.0.1:0", TokenFile: file(t, "token", secret+"\n"), Certificate: certificate, Key: key,
		Registry: prometheus.NewRegistry(), Ready: func() error { return why }, Pages: pages,
	})
	fatal.If(t, err)
	defer s.Close()
	for token, want := range map[string]int{secret: 200, "": 401, secret[1:]: 401, secret + "s": 401} {
		var header []string
		if token != "" {
			header = []string{"Authorization", "Bearer " + token}
		}
		for _, path := range []string{"/metrics", "/elsewhere"} {
			status, _ := servingtest.Get(t, client, s.URL+path, header...)
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
			status, text := servingtest.Get(t, client, s.URL+c.path, header...)
			if status != c.status || strings.Contains(text, "no broker") != (c.why != nil && token == secret) {
				t.Errorf("%s with the token %q: status %d, %q, want %d", c.path, token, status, text, c.status)
			}
		}
	}
}

// A token is in a regular file, and no word that can be guessed.
func TestTokensThatAreRefused(t *testing.T) {
	for text, path := range map[string]string{
		"at least 16 characters": file(t, "token", "15 characters..\n"), "longer than a token can be": file(t, "token", strings.Repeat("x", 5000)),
		"regular file": t.TempDir(), "no such file": filepath.Join(t.TempDir(), "none"),
	} {
		if s, err := Start(t.Context(), Config{Address: "127.0.0.1:0", TokenFile: path, Pages: pages}); s != nil || err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Pages handle all other paths; without the token, only their login and their assets.
func TestPages(t *testing.T) {
	h := Config{Address: "127.0.0.1:0", Pages: pages, Registry: prometheus.NewRegistry()}.handler("a-token-of-some-length")
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/": {401, "page /login"}, "/login": {401, "page /login"}, "/assets/style.css": {200, "page /assets/style.css"}, "/readyz": {200, "ok"}, "/metrics": {401, "token"}, "/livez": {200, "ok"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = "localhost"
		h.ServeHTTP(w, r)
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%s: status %d, %q", path, w.Code, w.Body)
		}
	}
}
