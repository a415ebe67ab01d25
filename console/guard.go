package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
)

// sessionCookie holds what shows that somebody has given the token.
const sessionCookie = "pacsgp-console"

// A Guard lets requests through that may see the pages, and says in the answers what
// browsers must not do with them.
type Guard struct {
	// Hosts are the names under which the console is reached. Other names are refused: a
	// page elsewhere could let its own name point here.
	Hosts []string
	// Token is asked for unless it is empty.
	Token string
	// Secure says that answers go through TLS.
	Secure bool
}

// policy lets a page load its style sheet and its icon, and nothing run.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// wrap returns the pages behind the guard. login is shown to who has no token.
func (g Guard) wrap(pages, login http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !g.knows(r.Host):
			http.Error(w, "this console is not known under that name; --host names others", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && (r.Method != http.MethodPost || r.URL.Path != "/login"):
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "pages are only read", http.StatusMethodNotAllowed)
		case g.Token == "" || strings.HasPrefix(r.URL.Path, "/assets/") || g.admits(r):
			pages.ServeHTTP(w, r)
		case r.Method == http.MethodPost:
			g.login(w, r, login)
		default:
			h.Set("WWW-Authenticate", `Bearer realm="pacsgp console"`)
			login.ServeHTTP(w, r)
		}
	}))
}

// knows reports whether the console is reached under this name.
func (g Guard) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	for _, known := range g.Hosts {
		if strings.EqualFold(host, known) {
			return true
		}
	}
	return false
}

// admits reports whether a request has the token, or the cookie of one that had it.
func (g Guard) admits(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && same(token, g.Token) {
		return true
	}
	cookie, err := r.Cookie(sessionCookie)
	return err == nil && same(cookie.Value, g.session())
}

// login gives a cookie for the token.
func (g Guard) login(w http.ResponseWriter, r *http.Request, again http.Handler) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if !same(strings.TrimSpace(r.PostFormValue("token")), g.Token) {
		again.ServeHTTP(w, r)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // G124: without TLS, on this machine alone, a secure cookie would not come back
		Name: sessionCookie, Value: g.session(), Path: "/", HttpOnly: true, Secure: g.Secure, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// session is what the cookie holds. It does not tell the token, and goes with it.
func (g Guard) session() string {
	mac := hmac.New(sha256.New, []byte(g.Token))
	mac.Write([]byte("pacsgp console session"))
	return hex.EncodeToString(mac.Sum(nil))
}

// same compares secrets of any length in a time that tells nothing.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}
