package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A job with groups: plan says what they cost, train and inspect what they are promised, and verify finds
// them in the rows.
func TestGroupsFromOneJob(t *testing.T) {
	dir := t.TempDir()
	g := make([]float64, 700)
	for i := range g {
		g[i] = float64(i % 3)
	}
	rows := lines(700)
	rows["g"] = g
	rows.write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"groups": "{column: g, values: [0, 1]}", "exclude": "[g]", "roles": "{holdout: 30 %}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	say := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		fatal.If(t, run(t.Context(), args, testSystem(&stdout, &stderr, durable.OS{}, nil)))
		return strings.Join(strings.Fields(stdout.String()), " ")
	}
	if text := say("plan", "-c", job); !strings.Contains(text, "groups bound for a group of so many hold-out rows") {
		t.Errorf("plan says %s", text)
	}
	if text := say("train", "-c", job); !strings.Contains(text, `by groups of "g", in at most `) {
		t.Errorf("train says %s", text)
	}
	model, certificate := only(t, filepath.Join(dir, "out", "model-*.parquet")), only(t, filepath.Join(dir, "out", "certificate-*.json"))
	if text := say("inspect", certificate); !strings.Contains(text, "where it is 1 0.") {
		t.Errorf("inspect says %s", text)
	}
	if a := pacsgp(t, "verify", model, certificate, filepath.Join(dir, "lake")); !strings.Contains(a.stdout, "derived again from model, rows and configuration") {
		t.Errorf("verify says %s %s", a.stdout, a.message)
	}
}
