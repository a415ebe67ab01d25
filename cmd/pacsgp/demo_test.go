package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// copyInto copies a file into a folder, which is made if it is missing.
func copyInto(t *testing.T, path, dir string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	fatal.If(t, err)
	fatal.If(t, os.MkdirAll(dir, 0o755))
	to := filepath.Join(dir, filepath.Base(path))
	fatal.If(t, os.WriteFile(to, data, 0o644))
	return to
}

// The README says what the demo prints; sets of instructions differ in the last digits.
func TestDemoIsTheREADME(t *testing.T) {
	t.Parallel()
	if testing.Short() || raceDetector {
		t.Skip("trains on 20,000 rows")
	}
	var stdout, stderr bytes.Buffer
	w := testSystem(&stdout, &stderr, durable.OS{})
	w.demo = theDemo
	if err := run(t.Context(), []string{"demo", "-o", t.TempDir()}, w); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	share := regexp.MustCompile(`in\s+at\s+most ([0-9.]+) % of\s+new\s+rows`)
	says, does := share.FindAllStringSubmatch(string(readFile(t, filepath.Join("..", "..", "README.md"))), 2), share.FindAllStringSubmatch(stdout.String(), 2)
	for i := range 2 {
		a, err := strconv.ParseFloat(says[i][1], 64)
		fatal.If(t, err)
		if b, err := strconv.ParseFloat(does[i][1], 64); err != nil || !(math.Abs(a/b-1) < 0.05) {
			t.Errorf("the README says %q, the demo prints %q", says[i][0], does[i][0])
		}
	}
}
