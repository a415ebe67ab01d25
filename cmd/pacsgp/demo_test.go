package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// The README's first command, and the examples, which run on the demo's lake. The short test has
// fewer rows: .ci/alone runs the demo as it is.
func TestDemoAndExamples(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("trains on 20,000 rows")
	}
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	w := testSystem(&stdout, &stderr, durable.OS{}, nil)
	if w.demo = theDemo; testing.Short() {
		w.demo = demoSize{rows: 5000, fresh: 5000, files: 4, inducing: 150}
	}
	if err := run(t.Context(), []string{"demo", "-o", filepath.Join(dir, "out", "demo")}, w); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"CONDITIONAL  predictions (the mean of Q)", "verified: the certificate follows", "a draw of Q misses 0.0"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the demo did not print %q:\n%s", want, stdout.String())
		}
	}
	if !testing.Short() { // sets of instructions differ in the last digits
		share := regexp.MustCompile(`in\s+at\s+most ([0-9.]+) % of fresh rows`)
		says, does := share.FindAllStringSubmatch(string(readFile(t, filepath.Join("..", "..", "README.md"))), 2), share.FindAllStringSubmatch(stdout.String(), 2)
		for i := range 2 {
			a, err := strconv.ParseFloat(says[i][1], 64)
			fatal.If(t, err)
			if b, err := strconv.ParseFloat(does[i][1], 64); err != nil || !(math.Abs(a/b-1) < 0.05) {
				t.Errorf("the README says %q, the demo prints %q", says[i][0], does[i][0])
			}
		}
	}
	for _, example := range []string{"demo.yaml", "choose.yaml"} {
		path := copyInto(t, filepath.Join("..", "..", "examples", example), filepath.Join(dir, "examples"))
		stdout.Reset()
		args := []string{"train", "-c", path, "--passes", "1", "--inducing", "60", "--limit", "0.9"}
		if err := run(t.Context(), args, testSystem(&stdout, &stderr, durable.OS{}, nil)); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
}

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
