// Package fatal ends tests that meet an unexpected error or cannot run.
package fatal

import (
	"os"
	"testing"
)

// If ends the test if err is not nil.
func If(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Missing ends a test that lacks something: it skips the test, or fails it with CI=true.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
