// Package servingtest asks what is served, for tests.
package servingtest

import (
	"io"
	"net/http"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Get asks an address.
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
