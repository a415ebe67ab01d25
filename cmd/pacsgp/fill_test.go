package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// holes are lines of which every fourth has no x1.
func holes(n int) table {
	rows := lines(n)
	x1 := make([]any, n)
	for i, v := range rows["x1"].([]float64) { //nolint:forcetypeassert // so lines makes it
		if i%4 > 0 {
			x1[i] = v
		}
	}
	return rows.with("x1", x1)
}

// A job fills nulls, with what the plan, inspect and the log say of them. Rows with nulls are predicted.
func TestFilledColumns(t *testing.T) {
	dir := t.TempDir()
	holes(720).write(t, lakeFile(dir, 0))
	plain := tiny(jobFile{"output": "plain"}).write(t, dir)
	if a := pacsgp(t, "plan", "-c", plain); a.status == 0 || !strings.Contains(a.message, "unless fill has a value for it") || !strings.Contains(a.stdout, "allows their 180 rows") {
		t.Errorf("without a fill plan says %s %s", a.stdout, a.message)
	}
	job := tiny(jobFile{"fill": "{x1: {with: median, flag: true}}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	if text := succeed(t, "plan", "-c", job).stdout; !strings.Contains(text, `180 in "x1" (filled), by the footers: fill has a value for them`) {
		t.Errorf("plan says %s", text)
	}
	if text := succeed(t, "train", "-c", job).log; !strings.Contains(text, `have no \"x1\" (14 stands for it)`) {
		t.Errorf("train says %s", text)
	}
	model, certificate, data := only(t, filepath.Join(dir, "out", "model-*.parquet")), only(t, filepath.Join(dir, "out", "certificate-*.json")), filepath.Join(dir, "lake")
	if text := succeed(t, "inspect", model).stdout; !strings.Contains(text, `missing values of "x1" count as`) || !strings.Contains(text, "have a flag") {
		t.Errorf("inspect says %s", text)
	}
	if a := pacsgp(t, "verify", model, certificate, data); !strings.Contains(a.stdout, "derived again from model, rows and configuration") {
		t.Errorf("verify says %s %s", a.stdout, a.message)
	}
	holes(30).with("x2", append([]float64{math.NaN()}, make([]float64, 29)...)).write(t, filepath.Join(dir, "new.parquet"))
	own := filepath.Join(dir, "own.parquet")
	succeed(t, "predict", model, certificate, filepath.Join(dir, "new.parquet"), "-o", own)
	for i, p := range predictions(t, own) {
		if (i == 0) != (p.Reason != nil && *p.Reason == "x2 is NaN") || (i == 0) != (p.Mean == nil) {
			t.Errorf("row %d: %+v", i, p)
		}
	}
}

// The forms of a fill, and what is wrong with one, with the place in the file.
func TestFillsOfAJobFile(t *testing.T) {
	dir := t.TempDir()
	holes(100).with("text", make([]string, 100)).with("none", make([]any, 100)).write(t, lakeFile(dir, 0))
	for _, c := range []struct{ fill, says string }{
		{"{x1: median, x2: 0.5}", ""},
		{"{x1: {with: 2}}", ""},
		{"{x1: mean}", "want median or a number"},
		{"{x1: }", "want median or a number"},
		{"{x1: {flag: true}}", "want median or a number"},
		{"{x1: {with: median, flag: maybe}}", "want true or false"},
		{"{x1: {with: {with: 2}}}", "want median or a number"},
		{"{x1: {of: 2}}", "want median or a number"},
		{"{x1: 1e31}", "from -1e30 to 1e30"},
		{"{wind: 0}", `no column "wind"`},
		{"{y: 0}", "fill: \"y\" is no feature"},
		{"{text: 0}", "not read as numbers"},
	} {
		job := tiny(jobFile{"fill": c.fill, "exclude": map[bool]string{true: "[none]"}[c.says == ""], "output": "out"}).write(t, dir)
		a := pacsgp(t, "plan", "-c", job)
		if (a.status == 0) != (c.says == "") || !strings.Contains(a.message, c.says) {
			t.Errorf("%s: status %d, %s", c.fill, a.status, a.message)
		}
	}
	job := tiny(jobFile{"fill": "{none: median, x1: 0}", "output": "out"}).write(t, dir)
	if a := pacsgp(t, "train", "-c", job); a.status == 0 || !strings.Contains(a.message, `"none" has no value on any reference row`) {
		t.Errorf("of a column without values: %+v", a)
	}
}
