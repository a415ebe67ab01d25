package serving

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// pages are the least that a guard can be asked to wrap.
var pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/login" {
		w.WriteHeader(http.StatusUnauthorized)
	}
	_, _ = io.WriteString(w, "page "+r.URL.Path)
})

// ask sends a request to pages behind a guard.
func ask(t *testing.T, g guard, method, path string, change func(r *http.Request)) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Host = "localhost:7433"
	if change != nil {
		change(r)
	}
	g.wrap(pages).ServeHTTP(w, r)
	return w.Result()
}

// A name that points to this machine is not enough: pages elsewhere can make one.
func TestHosts(t *testing.T) {
	g := Config{Address: "0.0.0.0:7433"}.guard("")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:7433": 200, "LOCALHOST:1": 200, "127.0.0.1:7433": 200, "[::1]:7433": 200, "[::1]": 200,
		"evil.example:7433": 421, "localhost.evil.example": 421, "": 421, "127.0.0.1.evil.example:80": 421, "0.0.0.0": 421, "evil.example@localhost": 421,
	} {
		a := ask(t, g, http.MethodGet, "/", func(r *http.Request) { r.Host = host })
		if a.StatusCode != want {
			t.Errorf("%q: status %d, want %d", host, a.StatusCode, want)
		}
		_ = a.Body.Close()
	}
}

// Every answer says what browsers must not do with it.
func TestHeaders(t *testing.T) {
	for _, path := range []string{"/", "/nothing", "/assets/style.css", "/compare", "/unreadable", "/login"} {
		a := ask(t, guard{hosts: []string{"localhost"}}, http.MethodGet, path, nil)
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
		a := ask(t, guard{hosts: []string{"localhost"}}, method, "/", nil)
		if a.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, a.StatusCode)
		}
		_ = a.Body.Close()
	}
}

func TestToken(t *testing.T) {
	g := guard{hosts: []string{"localhost"}, token: "a-token-of-some-length", secure: true}
	status := func(change func(r *http.Request)) int {
		a := ask(t, g, http.MethodGet, "/", change)
		_ = a.Body.Close()
		return a.StatusCode
	}
	bearer := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", text) }
	}
	for text, want := range map[string]int{
		"Bearer " + g.token: 200, "": 401, "Bearer ": 401, "Bearer x": 401, g.token: 401, "Basic " + g.token: 401, "Bearer " + g.token + "x": 401, "Bearer " + g.token[1:]: 401,
	} {
		if got := status(bearer(text)); got != want {
			t.Errorf("%q: status %d, want %d", text, got, want)
		}
	}
	login := func(token string, change func(r *http.Request)) *http.Response {
		return ask(t, g, http.MethodPost, "/login", func(r *http.Request) {
			body := url.Values{"token": {token}}.Encode()
			*r = *httptest.NewRequestWithContext(r.Context(), http.MethodPost, "/login", strings.NewReader(body))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if change != nil {
				change(r)
			}
		})
	}
	for token, want := range map[string]int{g.token: http.StatusSeeOther, "": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, strings.Repeat("x", 10_000): http.StatusUnauthorized} {
		a := login(token, nil)
		if _ = a.Body.Close(); a.StatusCode != want || (len(a.Cookies()) > 0) != (want == http.StatusSeeOther) {
			t.Errorf("%.20q: status %d, want %d; %d cookies", token, a.StatusCode, want, len(a.Cookies()))
		}
	}
	a := login(g.token, nil)
	defer a.Body.Close()
	cookie := a.Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, g.token) {
		t.Errorf("cookie %v", cookie)
	}
	if got := status(func(r *http.Request) { r.AddCookie(cookie) }); got != 200 {
		t.Errorf("with the cookie: status %d", got)
	}
	if got := status(func(r *http.Request) { r.AddCookie(&http.Cookie{Name: sessionCookie, Value: g.token}) }); got != 401 {
		t.Errorf("with the token as a cookie: status %d", got)
	}
	other := login(g.token, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	if _ = other.Body.Close(); other.StatusCode != http.StatusForbidden {
		t.Errorf("from another site: status %d", other.StatusCode)
	}
	style := ask(t, g, http.MethodGet, "/assets/style.css", nil)
	if _ = style.Body.Close(); style.StatusCode != 200 {
		t.Errorf("the style of the page that asks for the token: status %d", style.StatusCode)
	}
}
