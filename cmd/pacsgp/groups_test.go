package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A verifier refuses a text that has the label of a group's: found by trying 2²⁷ of them.
func TestTextsOfOneLabel(t *testing.T) {
	const one, other = "site-1d104aa677d3f5", "site-1a66eb42eb43d1"
	if job.Label(one) != job.Label(other) {
		t.Fatal("the labels differ")
	}
	dir, texts := t.TempDir(), make([]string, 700)
	for i := range texts {
		texts[i] = []string{one, "WN"}[i%2]
	}
	lines(700).with("g", texts).write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"groups": "{g: [" + one + "]}", "split": "{holdout: 30 %}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	if a := pacsgp(t, "train", "-c", job); a.status != 0 {
		t.Fatal(a.message)
	}
	model, certificate := only(t, filepath.Join(dir, "out", "model-*.parquet")), only(t, filepath.Join(dir, "out", "certificate-*.json"))
	for i := range texts {
		if i%4 == 0 {
			texts[i] = other
		}
	}
	lines(700).with("g", texts).write(t, lakeFile(dir, 0))
	if a := pacsgp(t, "verify", model, certificate, filepath.Join(dir, "lake")); a.status != 1 || !strings.Contains(a.message, "have the same label") {
		t.Errorf("verify says %d, %s", a.status, a.message)
	}
}
