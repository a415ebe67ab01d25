package serving

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// sessionCookie proves that a browser has sent the token.
const sessionCookie = "pacsgp-console"

// A guard decides which requests are admitted.
type guard struct {
	hosts  []string // names of this server; without a token others are refused: a page elsewhere could let its own name point here
	token  string   // "": everybody is admitted
	secure bool     // whether there is TLS
}

// guard knows the server as loopback, and by the host that it listens on.
func (c Config) guard(token string) guard {
	g := guard{[]string{"localhost", "127.0.0.1", "::1"}, token, c.Certificate != ""}
	if host, _, err := net.SplitHostPort(c.Address); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			g.hosts = append(g.hosts, host)
		}
	}
	return g
}

// policy lets a page load its style sheet and its icon, and nothing run.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// wrap returns the pages behind the guard, with headers that restrict browsers.
func (g guard) wrap(pages http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		login := r.URL.Path == "/login"
		switch {
		case g.token == "" && !g.knows(r.Host):
			http.Error(w, "not known under that name: without a token only localhost and the address that is listened on are", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && (r.Method != http.MethodPost || !login):
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "pages are only read", http.StatusMethodNotAllowed)
		case login && (g.admits(r) || g.login(w, r)):
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case strings.HasPrefix(r.URL.Path, "/assets/") || g.admits(r):
			pages.ServeHTTP(w, r)
		default:
			h.Set("WWW-Authenticate", `Bearer realm="pacsgp console"`)
			form := r.Clone(r.Context())
			form.URL = &url.URL{Path: "/login"}
			pages.ServeHTTP(w, form)
		}
	}))
}

// knows reports whether a name is one of this server.
func (g guard) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	for _, known := range g.hosts {
		if strings.EqualFold(host, known) {
			return true
		}
	}
	return false
}

// admits reports whether a request has the token, or the cookie for it, if there is one.
func (g guard) admits(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); g.token == "" || ok && same(token, g.token) {
		return true
	}
	cookie, err := r.Cookie(sessionCookie)
	return err == nil && same(cookie.Value, g.session())
}

// login gives a cookie for the token in a form, and reports whether it did.
func (g guard) login(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if r.Method != http.MethodPost || !same(strings.TrimSpace(r.PostFormValue("token")), g.token) {
		return false
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: without TLS, on this machine alone, a secure cookie would not come back
		Name: sessionCookie, Value: g.session(), Path: "/", HttpOnly: true, Secure: g.secure, SameSite: http.SameSiteStrictMode,
	})
	return true
}

// session is the value of the cookie. It does not tell the token, and ends with it.
func (g guard) session() string {
	mac := hmac.New(sha256.New, []byte(g.token))
	mac.Write([]byte("pacsgp console session"))
	return hex.EncodeToString(mac.Sum(nil))
}

// same compares secrets of any length in a time that tells nothing.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}
