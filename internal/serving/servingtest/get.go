// Package servingtest makes HTTP requests in tests.
package servingtest

import (
	"io"
	"net/http"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Get requests a URL and returns status and body.
func Get(t testing.TB, address string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	fatal.If(t, err)
	a, err := http.DefaultClient.Do(r)
	fatal.If(t, err)
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	fatal.If(t, err)
	return a.StatusCode, string(text)
}
