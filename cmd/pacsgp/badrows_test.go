package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Bad rows in two files: without a tolerance the first one ends the job, with one they
// are in the file of bad rows and the certificate verifies.
func TestBadRowsGoIntoQuarantine(t *testing.T) {
	const n = 600
	dir := t.TempDir()
	rows := lines(n)
	x1, x2 := make([]float64, n), make([]any, n)
	for i := range n {
		x1[i], x2[i] = rows["x1"].([]float64)[i], rows["x2"].([]float64)[i]
	}
	x1[11], x1[599], x2[70] = math.NaN(), math.Inf(1), nil
	rows["x1"], rows["x2"] = x1, x2
	rows.write(t, lakeFile(dir, 0))
	path := filepath.Join(dir, "bad", "rows.parquet") // its directory is made with it

	train := func(badRows string) answer {
		job := tiny(jobFile{"loss": "{epsilon: 8}", "bad_rows": badRows})
		return pacsgp(t, "train", "-c", job.write(t, dir))
	}
	if said := train(""); said.status != 1 || !strings.Contains(said.message, "row 11") {
		t.Errorf("status %d, %q: want the first bad row", said.status, said.message)
	}
	tolerant := "{tolerance: 1 %, to: bad/rows.parquet}"
	succeed(t, "lint", tiny(jobFile{"bad_rows": tolerant}).write(t, dir))
	if said := train(tolerant); said.status != 0 || !strings.Contains(said.log, "3 of 600 rows break a row rule") {
		t.Errorf("status %d, %q, %q: want a note of bad rows", said.status, said.message, said.log)
	}
	r := record(t, filepath.Join(dir, "out"))
	succeed(t, "verify", filepath.Join(dir, "out", r.Model), filepath.Join(dir, "out", r.Certificate), filepath.Join(dir, "lake"))
	type bad struct {
		In     string `parquet:"in"`
		Row    int64  `parquet:"row"`
		Column string `parquet:"column"`
		Reason string `parquet:"reason"`
	}
	got, err := parquet.ReadFile[bad](path)
	fatal.If(t, err)
	for i, want := range []bad{{"", 11, "x1", "x1 is NaN"}, {"", 70, "x2", "x2 is null"}, {"", 599, "x1", "x1 is infinite"}} {
		if i >= len(got) || got[i].Row != want.Row || got[i].Column != want.Column || got[i].Reason != want.Reason || got[i].In != lakeFile(dir, 0) {
			t.Errorf("bad rows %+v: number %d is not %+v", got, i, want)
		}
	}
	fatal.If(t, os.Remove(path))
	if said := train("{tolerance: 0.4 %, to: bad/rows.parquet}"); said.status != 1 || !strings.Contains(said.message, "3 of 600 rows (0.5 %) break a row rule") {
		t.Errorf("status %d, %q", said.status, said.message)
	}
	if again, err := parquet.ReadFile[bad](path); err != nil || len(again) != 3 {
		t.Errorf("a job that stops at too many bad rows has %v, %v in its file of them, want all 3", again, err)
	}
}
