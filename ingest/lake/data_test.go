package lake_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// sharedData returns the folder of the data that tests read but the project
// does not contain: PACSGP_DATA, or ../shared/data next to the project.
func sharedData(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("PACSGP_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "data")
	}
	if _, err := os.Stat(root); err != nil {
		fatal.Missing(t, "the test data are missing: %v; set PACSGP_DATA", err)
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// writersData returns the path of a file or folder of testdata/writers.
func writersData(elem ...string) string {
	return filepath.Join(append([]string{"testdata", "writers"}, elem...)...)
}
