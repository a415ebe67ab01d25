package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

// served starts a console and returns its address. It ends with the test, without an error.
func served(t *testing.T, args ...string) string {
	t.Helper()
	r := startCommand(t, append([]string{"console", "--listen", "127.0.0.1:0"}, args...)...)
	t.Cleanup(func() { r.end(t) })
	return r.find(t, "(https?://[^/]+/)")
}

// The console shows what train has published, on this machine alone.
func TestConsole(t *testing.T) {
	a := trained(t)
	address := served(t, a.out)
	status, page := servingtest.Get(t, http.DefaultClient, address)
	if status != http.StatusOK || !strings.Contains(page, a.id) {
		t.Errorf("status %d: %s", status, page)
	}
	pacsgp(t, "console").says(t, exitUsage, "name the output directories")
	pacsgp(t, "console", filepath.Join(a.dir, "none")).says(t, exitFailure, "no such file")
	pacsgp(t, "console", a.certificate).says(t, exitFailure, "no directory")
}

// Others are served with a token and TLS, or not at all.
func TestConsoleForOthers(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	writeFile(t, token, []byte("a-token-of-some-length\n"))
	chain, key, client := servingtest.SelfSigned(t)
	pacsgp(t, "console", dir, "--listen", "0.0.0.0:0", "--token-file", token).says(t, exitUsage, "beyond loopback, it needs a token, a certificate and its key")
	pacsgp(t, "console", dir, "--tls-cert", chain).says(t, exitUsage, "--tls-key: certificate and key go together")
	short := filepath.Join(dir, "short")
	writeFile(t, short, []byte("too short\n"))
	pacsgp(t, "console", dir, "--token-file", short).says(t, exitFailure, "at least 16 characters")

	address := served(t, dir, "--token-file", token, "--tls-cert", chain, "--tls-key", key)
	if status, page := servingtest.Get(t, client, address); status != http.StatusUnauthorized || !strings.HasPrefix(address, "https://") {
		t.Errorf("%s: status %d: %s", address, status, page)
	}
	if status, _ := servingtest.Get(t, client, address, "Authorization", "Bearer a-token-of-some-length"); status != http.StatusOK {
		t.Errorf("with the token: status %d", status)
	}
}
