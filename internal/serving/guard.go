package serving

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy lets a page load its style sheet and its icon, and nothing run.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard serves pages to this machine alone, with headers that restrict browsers.
func guard(pages http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
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

// local reports whether a request comes from this machine and asks for it by a name of loopback: a
// page elsewhere could let its own name point here.
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
