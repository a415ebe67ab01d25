package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A job with groups: plan says what they cost, train and inspect what they are promised, and verify finds them in the rows.
func TestGroupsFromOneJob(t *testing.T) {
	numbers, texts, truths := make([]float64, 700), make([]string, 700), make([]float64, 700)
	for i := range numbers {
		numbers[i], texts[i], truths[i] = float64(i%3), []string{"WN", "AA", "\xffÖ"}[i%3], float64(i%2)
	}
	for _, c := range []struct {
		column           any
		values, of, says string
	}{
		{numbers, "[0, 1]", "numbers", "where it is 1 0."},
		{texts, "[WN, AA]", "texts", `where it is "AA" 0.`},
		{truths, "[true]", "truths", "where it is 1 0."},
	} {
		t.Run(c.of, func(t *testing.T) { groupsFromOneJob(t, lines(700).with("g", c.column), c.values, c.says) })
	}
}

func groupsFromOneJob(t *testing.T, rows table, values, says string) {
	t.Helper()
	dir := t.TempDir()
	rows.write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"groups": "{column: g, values: " + values + "}", "exclude": "[g]", "roles": "{holdout: 30 %}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	say := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		fatal.If(t, run(t.Context(), args, testSystem(&stdout, &stderr, durable.OS{}, nil)))
		return strings.Join(strings.Fields(stdout.String()), " ")
	}
	if text := say("train", "-c", job); !strings.Contains(text, `by groups of "g", in at most `) {
		t.Errorf("train says %s", text)
	}
	model, certificate := only(t, filepath.Join(dir, "out", "model-*.parquet")), only(t, filepath.Join(dir, "out", "certificate-*.json"))
	if text := say("inspect", certificate); !strings.Contains(text, says) {
		t.Errorf("inspect says %s", text)
	}
	if a := pacsgp(t, "verify", model, certificate, filepath.Join(dir, "lake")); !strings.Contains(a.stdout, "derived again from model, rows and configuration") {
		t.Errorf("verify says %s %s", a.stdout, a.message)
	}
}

// A verifier refuses a text that has the label of a group's: found by trying 2²⁷ of them.
func TestTextsOfOneLabel(t *testing.T) {
	const one, other = "site-1d104aa677d3f5", "site-1a66eb42eb43d1"
	if pipeline.Label(one) != pipeline.Label(other) {
		t.Fatal("the labels differ")
	}
	dir, texts := t.TempDir(), make([]string, 700)
	for i := range texts {
		texts[i] = []string{one, "WN"}[i%2]
	}
	lines(700).with("g", texts).write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"groups": "{column: g, values: [" + one + "]}", "roles": "{holdout: 30 %}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
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

// Texts and numbers are told apart, and a column of text is no feature.
func TestTextsOfGroups(t *testing.T) {
	dir := t.TempDir()
	g := make([]string, 100)
	for i := range g {
		g[i] = []string{"WN", "AA"}[i%2]
	}
	lines(100).with("g", g).with("n", make([]float64, len(g))).write(t, lakeFile(dir, 0))
	for _, c := range []struct{ groups, says string }{
		{"{column: g, values: [AA, 1]}", "numbers alone, or texts alone"},
		{"{column: g, values: [AA, AA]}", "groups.values"},
		{"{column: g, values: [\"a\\u202eb\"]}", "not printed"},
		{"{column: g, values: []}", "want a list"},
		{"{column: g}", "list its texts under groups.values"},
		{"{column: x1, values: [AA]}", "which has numbers"},
		{"{column: n, values: [AA]}", "and its groups or levels are texts"},
		{"{column: h, values: [AA]}", "no column"},
	} {
		job := tiny(jobFile{"groups": c.groups, "features": "[x1, x2]", "output": "out"}).write(t, dir)
		if a := pacsgp(t, "train", "-c", job); a.status == 0 || !strings.Contains(a.message, c.says) {
			t.Errorf("%s: status %d, %s", c.groups, a.status, a.message)
		}
	}
}
