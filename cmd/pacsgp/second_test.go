package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// The second implementation reads a certificate's row as its document, says how many other
// jobs were tried, and refuses a file that is missing.
func TestSecondVerifier(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	dir := t.TempDir()
	smallLake(t, dir)
	succeed(t, "train", "-c", tiny(nil).write(t, dir))
	succeed(t, "train", "-c", tiny(jobFile{"delta": "0.06"}).write(t, dir))
	out := filepath.Join(dir, "out")
	r := record(t, out)
	model, lake := filepath.Join(out, r.Model), filepath.Join(dir, "lake")
	document, none := filepath.Join(out, r.Certificate), filepath.Join(dir, "none")
	runs := verifytest.Verify(t, [][]string{
		{"verify", model, document, lake},
		{"verify", model, filepath.Join(out, r.Row), lake},
		{"verify", none, document},
		{"verify", model, none},
		{"verify", model, document, none},
	})
	for i, run := range runs {
		good := run.Status == 0 && strings.Contains(run.Out, "1 other job was tried") && strings.Contains(run.Out, "verified: ")
		missing := run.Status == exitFailure && strings.Contains(run.Out, "No such file")
		if i < 2 && !good || i >= 2 && !missing {
			t.Errorf("call %d: status %d: %s", i, run.Status, run.Out)
		}
	}
}

// Both programs take the same columns for numbers: a date in a path is a text, float16 is not
// read, and what only Arrow's note calls a duration is an integer.
func TestSecondProgramTakesTheSameColumns(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	dir := t.TempDir()
	lake := filepath.Join(dir, "lake")
	verifytest.Script(t, `
import os, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
r = np.random.default_rng(1)
for day in "2024-01-01", "1e999":
    folder = os.path.join(sys.argv[1], "date=" + day, "run=7")
    os.makedirs(folder)
    x = r.uniform(-1, 1, 200)
    pq.write_table(pa.table({"x": x, "half": x.astype(np.float16), "took": pa.array(r.permutation(200), pa.duration("ms")), "y": x}), folder + "/rows.parquet")
`, lake)
	a := retrained(t, dir, nil)
	succeed(t, "verify", a.model, a.certificate, lake)
	if said, status := verifytest.Python(t, "-m", "pacsgp", "verify", a.model, a.certificate, lake); status != 0 {
		t.Errorf("status %d: %s", status, said)
	}
}
