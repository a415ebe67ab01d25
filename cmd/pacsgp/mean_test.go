package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// The example of boosted trees, in both forms, from Parquet to a certificate that both verifiers take.
func TestExampleOfBoostedTrees(t *testing.T) {
	t.Parallel()
	needScikitLearn(t)
	dir := t.TempDir()
	fatal.If(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "mean"))))
	in := func(name string) string { return filepath.Join(dir, name) }
	verifytest.Script(t, `
import os, sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng = np.random.default_rng(1)
a, b = rng.uniform(-3, 3, (2, 3000))
os.mkdir(sys.argv[1])
pq.write_table(pa.table({"a": a, "b": b, "y": np.sin(2 * a) + 0.3 * b + rng.normal(0, 0.1, 3000)}), sys.argv[1] + "/rows.parquet")
`, in("rows"))
	job := string(readFile(t, in("job.yaml"))) + "\ninducing: 20\ntrain: {passes: 5}\n"
	for form, of := range map[string]struct{ job, fitted string }{
		"one": {job, "no held-out row"}, "two": {strings.Replace(job, "# outside", "outside", 1), "outside rows alone"},
	} {
		writeFile(t, in("job.yaml"), []byte(of.job))
		if err := os.RemoveAll(in("out")); err != nil {
			t.Fatal(err)
		}
		succeed(t, "split", "-c", in("job.yaml"), "-o", in("split.parquet"))
		if out, status := verifytest.Python(t, in("boost.py"), in("rows/rows.parquet"), in("split.parquet"), "y", "boosted"); status != 0 {
			t.Fatal(out)
		}
		succeed(t, "train", "-c", in("job.yaml"))
		certificate, model := only(t, in("out/certificate-*.json")), only(t, in("out/model-*.parquet"))
		c, err := certify.Parse(readFile(t, certificate))
		if err != nil {
			t.Fatal(err)
		}
		held, _ := c.Claim(certify.ClaimHoldout)
		if held.Status != certify.StatusCertified || held.Bound > 0.1 {
			t.Errorf("form %s: %s, bound %v, %+v", form, held.Status, held.Bound, c.Assumptions[len(c.Assumptions)-1])
		}
		if out, status := verifytest.Python(t, "-m", "pacsgp", "verify", model, certificate, in("rows")); status != 0 {
			t.Errorf("form %s: status %d:\n%s", form, status, out)
		}
		succeed(t, "predict", model, certificate, in("rows"), "-o", in("predictions.parquet"))
	}
}

// only is the one file that a pattern finds.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v, want one file", pattern, found, err)
	}
	return found[0]
}
