package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// flights are rows with a carrier and a time, of which the target is made.
func flights(n int) table {
	carrier, when, y := make([]string, n), make(times, n), make([]float64, n)
	for i := range n {
		hour := i % 24
		carrier[i], when[i] = []string{"WN", "AA", "Öst"}[i%3], int64(3600*hour+7*86_400*(i/24))
		y[i] = float64(i%3) + 2*math.Sin(2*math.Pi*float64(hour)/24)
	}
	return lines(n).with("carrier", carrier).with("when", when).with("y", y)
}

// A job reads text and times as features. Rows of an unknown carrier are predicted too.
func TestEncodedColumns(t *testing.T) {
	dir := t.TempDir()
	flights(720).write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"encode": "{carrier: one-hot, when: {cyclic: [day, week]}}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	if text := succeed(t, "plan", "-c", job).stdout; !strings.Contains(text, "features   4: carrier, when, x1, x2") {
		t.Errorf("plan says %s", text)
	}
	succeed(t, "train", "-c", job)
	model, certificate, data := only(t, filepath.Join(dir, "out", "model-*.parquet")), only(t, filepath.Join(dir, "out", "certificate-*.json")), filepath.Join(dir, "lake")
	if text := succeed(t, "inspect", model).stdout; !strings.Contains(text, "3 levels") || !strings.Contains(text, "2 periods") {
		t.Errorf("inspect says %s", text)
	}
	if a := pacsgp(t, "verify", model, certificate, data); !strings.Contains(a.stdout, "derived again from model, rows and configuration") {
		t.Errorf("verify says %s %s", a.stdout, a.message)
	}
	rows := flights(30)
	carrier, ok := rows["carrier"].([]string)
	if !ok {
		t.Fatal("no text")
	}
	carrier[7] = "ZZ"
	rows.write(t, filepath.Join(dir, "new.parquet"))
	own := filepath.Join(dir, "own.parquet")
	if a := succeed(t, "predict", model, certificate, filepath.Join(dir, "new.parquet"), "-o", own); !strings.Contains(a.log, `1 row of 30 with a value of \"carrier\" that the model does not know: it counts as other`) {
		t.Errorf("of an unknown carrier it says %s", a.log)
	}
	flights(30).with("carrier", make([]float64, 30)).write(t, filepath.Join(dir, "numbers.parquet"))
	if a := succeed(t, "predict", model, certificate, filepath.Join(dir, "numbers.parquet"), "-o", own); !strings.Contains(a.log, "is it text in the one, and numbers in the other?") {
		t.Errorf("of carriers that are numbers it says %s", a.log)
	}
	succeed(t, "predict", model, certificate, filepath.Join(dir, "new.parquet"), "-o", own)
}

// Levels by texts, and what is wrong with encodings, with the place in the file.
func TestEncodingsOfAJobFile(t *testing.T) {
	dir := t.TempDir()
	flights(100).write(t, lakeFile(dir, 0))
	for _, c := range []struct{ encode, says string }{
		{"{carrier: {one-hot: [WN, AA]}, x1: {one-hot: [1, 2, 0.5]}, x2: {cyclic: 31}}", ""},
		{"{carrier: {one-hot: [WN, 1]}}", "numbers alone, or texts alone"},
		{"{carrier: {one-hot: []}}", "want a list"},
		{"{carrier: one}", "want one-hot"},
		{"{carrier: }", "want one-hot"},
		{"{carrier: {}}", "want one-hot"},
		{"{when: {cyclic: month}}", "one of day, week, year"},
		{"{x1: {cyclic: -1}}", "different periods"},
		{"{carrier: {cyclic: 3}}", "not read as numbers"},
		{"{x1: {one-hot: [AA]}}", "its groups or levels are texts"},
		{"{wind: one-hot}", `no column "wind"`},
		{"{y: one-hot}", "no feature"},
		{"{x1: {levels: [1]}}", "unknown field"},
	} {
		job := tiny(jobFile{"encode": c.encode, "output": "out"}).write(t, dir)
		a := pacsgp(t, "plan", "-c", job)
		if (a.status == 0) != (c.says == "") || !strings.Contains(a.message, c.says) {
			t.Errorf("%s: status %d, %s", c.encode, a.status, a.message)
		}
	}
	job := tiny(jobFile{"encode": "{carrier: {one-hot: [WN, AA]}}", "source": "{stream: \"-\"}", "features": "[carrier]", "output": "out"}).write(t, dir)
	if a := pacsgp(t, "lint", job); a.status != 78 || !strings.Contains(a.stdout+a.message, "texts are read of files") {
		t.Errorf("lint says %+v", a)
	}
}
