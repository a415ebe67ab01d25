package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Delays of flights have heavy tails, and their files follow the calendar: full
// steps of q would send its mean far away, to bounds near 1.
func TestHeavyTailsDoNotRunAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("two passes through half a million flights: the nightly suite makes them")
	}
	data := os.Getenv("PACSGP_DATA")
	if data == "" {
		data = filepath.Join("..", "..", "..", "shared", "data")
	}
	data, err := filepath.Abs(filepath.Join(data, "flights"))
	fatal.If(t, err)
	if _, err := os.Stat(data); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the test data are missing: %v; set PACSGP_DATA", err)
		}
		t.Skipf("the test data are missing: %v; set PACSGP_DATA", err)
	}
	dir := t.TempDir()
	job := jobFile{
		"source": "{paths: [" + data + "]}", "target": "delay", "features": "[distance, time]",
		"loss": "{kind: zero-one, epsilon: 15}", "delta": "0.01", "output": "out",
		"inducing": "[150]", "train": "{passes: 2, objective: bound}", "duplicates": "keep", // few values: flights of one delay are no duplicates
	}.write(t, dir)
	pacsgp(t, "train", "-c", job)
	first, last := math.NaN(), math.NaN()
	for i, p := range record(t, filepath.Join(dir, "out")).Training.Trace {
		if i == 0 {
			first = p.Bound
		}
		last = p.Bound
	}
	t.Logf("estimated bound %g at first, %g at last", first, last)
	if !(last <= first+0.03) {
		t.Errorf("the estimated bound went from %g to %g", first, last)
	}
}
