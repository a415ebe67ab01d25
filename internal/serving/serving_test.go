package serving

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
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
		if status, text := servingtest.Get(t, s.URL+c.path); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: status %d, %q, want %d, %q", c.path, status, text, c.status, c.says)
		}
	}
}

// pages are the least that a guard can be asked to wrap.
var pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "page "+r.URL.Path)
})

// ask sends a request to pages behind a guard.
func ask(t *testing.T, method, path string, change func(r *http.Request)) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Host, r.RemoteAddr = "localhost:7433", "127.0.0.1:1"
	if change != nil {
		change(r)
	}
	guard(pages).ServeHTTP(w, r)
	return w.Result()
}

// A name that points to this machine is not enough: pages elsewhere can make one.
func TestHosts(t *testing.T) {
	for host, want := range map[string]int{
		"localhost": 200, "localhost:7433": 200, "LOCALHOST:1": 200, "127.0.0.1:7433": 200, "[::1]:7433": 200, "[::1]": 200,
		"evil.example:7433": 421, "localhost.evil.example": 421, "": 421, "127.0.0.1.evil.example:80": 421, "0.0.0.0": 421, "evil.example@localhost": 421,
	} {
		a := ask(t, http.MethodGet, "/", func(r *http.Request) { r.Host = host })
		if a.StatusCode != want {
			t.Errorf("%q: status %d, want %d", host, a.StatusCode, want)
		}
		_ = a.Body.Close()
	}
}

// Pages are for this machine alone, whatever name a browser elsewhere gives.
func TestOtherMachines(t *testing.T) {
	for from, want := range map[string]int{"127.0.0.1:1": 200, "[::1]:1": 200, "[::ffff:127.0.0.1]:1": 200, "192.0.2.1:1": 421, "[2001:db8::1]:1": 421, "": 421} {
		a := ask(t, http.MethodGet, "/", func(r *http.Request) { r.RemoteAddr = from })
		if _ = a.Body.Close(); a.StatusCode != want {
			t.Errorf("%q: status %d, want %d", from, a.StatusCode, want)
		}
	}
}

// Every answer says what browsers must not do with it.
func TestHeaders(t *testing.T) {
	for _, path := range []string{"/", "/nothing", "/assets/style.css", "/compare", "/unreadable"} {
		a := ask(t, http.MethodGet, path, nil)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if !strings.Contains(a.Header.Get(name), want) {
				t.Errorf("%s: %s is %q", path, name, a.Header.Get(name))
			}
		}
		for _, bad := range []string{"unsafe", "http:", "*"} {
			if strings.Contains(a.Header.Get("Content-Security-Policy"), bad) {
				t.Errorf("%s: the policy allows %q", path, bad)
			}
		}
		if cache := a.Header.Get("Cache-Control"); cache != "no-store" && !strings.HasPrefix(path, "/assets/") {
			t.Errorf("%s: Cache-Control %q", path, cache)
		}
		_ = a.Body.Close()
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodTrace, "PROPFIND"} {
		a := ask(t, method, "/", nil)
		if a.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, a.StatusCode)
		}
		_ = a.Body.Close()
	}
}
