// Package servingtest asks what is served, for tests.
package servingtest

import (
	"io"
	"net/http"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Get asks an address, with names of headers and their values in turn.
func Get(t *testing.T, client *http.Client, address string, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	fatal.If(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := client.Do(r)
	fatal.If(t, err)
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	fatal.If(t, err)
	return a.StatusCode, string(text)
}
