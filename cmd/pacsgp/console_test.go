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
	return r.find(t, "(http://[^/]+/)")
}

// The console shows what train has published, on this machine alone.
func TestConsole(t *testing.T) {
	a := trained(t)
	address := served(t, a.out)
	status, page := servingtest.Get(t, address)
	if status != http.StatusOK || !strings.Contains(page, a.id) {
		t.Errorf("status %d: %s", status, page)
	}
	pacsgp(t, "console").says(t, exitUsage, "name the output directories")
	pacsgp(t, "console", filepath.Join(a.dir, "none")).says(t, exitFailure, "no such file")
	pacsgp(t, "console", a.certificate).says(t, exitFailure, "no directory")
}
