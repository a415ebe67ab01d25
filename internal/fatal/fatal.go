// Package fatal ends tests that meet an unexpected error or cannot run.
package fatal

import (
	"os"
	"path/filepath"
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

// Data returns the path of test data that the project does not contain: in PACSGP_DATA, or in
// shared/data next to the checkout. Without them the test is [Missing] something.
func Data(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("PACSGP_DATA")
	for up := "../.."; root == "" && len(up) < 20; up += "/.." {
		if found, _ := filepath.Glob(up + "/shared/data"); found != nil {
			root = found[0]
		}
	}
	path, err := filepath.Abs(filepath.Join(append([]string{root}, elem...)...))
	If(t, err)
	if found, _ := filepath.Glob(path); found == nil {
		Missing(t, "the test data are missing: there is no %s; set PACSGP_DATA", path)
	}
	return path
}
