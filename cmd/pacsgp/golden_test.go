package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

var golden = flag.String("golden", "", "make the artifacts of a version, in testdata/golden/VERSION, which must not exist yet")

// goldenJobs are the jobs of a new version's artifacts, by name.
var goldenJobs = map[string]string{
	"plain":   `{source: rows.parquet, target: y, features: [a, b], loss: {epsilon: 0.6}, delta: 0.05, inducing: 12, train: {passes: 4}, judge: draw, sign: {key: KEY}}`,
	"encoded": `{source: rows.parquet, target: y, exclude: [station], loss: {epsilon: 0.6}, delta: 0.05, inducing: 12, train: {passes: 4}, judge: draw, encode: {carrier: {one-hot: [AA, WN]}, hour: {cyclic: 24}}, fill: {gap: {with: median, flag: true}}}`,
	"units":   `{source: rows.parquet, target: y, features: [a, b], unit: {column: station}, loss: {epsilon: 1.5}, delta: 0.1, inducing: 12, train: {passes: 4}, judge: draw}`,
	"curve":   `{source: rows.parquet, target: y, features: [a, b], loss: {tolerance: any}, delta: 0.05, inducing: 12, train: {passes: 4}, judge: draw}`,
}

// makeGolden makes the artifacts of a version: rows, model, certificate, and of one job its row of
// Parquet and its signature.
func makeGolden(t *testing.T, version string) {
	t.Helper()
	fatal.If(t, os.Mkdir(version, 0o755)) // never in the place of another
	rows := filepath.Join(version, "rows.parquet")
	verifytest.Script(t, `
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng, n = np.random.default_rng(1), 900
a, b = rng.uniform(-3, 3, (2, n)).round(3)
carrier, hour = np.array(["AA", "WN", "ZZ"])[rng.integers(0, 3, n)], rng.integers(0, 24, n)
gap = np.where(rng.uniform(size=n) < .1, np.nan, rng.uniform(-1, 1, n).round(3))
y = np.sin(a) + .3 * b + .5 * (carrier == "AA") + .3 * np.cos(hour / 24 * 2 * np.pi) + rng.normal(0, .1, n)
pq.write_table(pa.table({"a": a, "b": b, "carrier": carrier, "hour": hour, "gap": pa.array(gap, from_pandas=True), "station": np.arange(n) // 2, "y": y.round(4)}), sys.argv[1], row_group_size=400)
`, rows)
	for name, job := range goldenJobs {
		dir := t.TempDir()
		copyInto(t, rows, dir)
		writeFile(t, filepath.Join(dir, "job.yaml"), []byte(strings.ReplaceAll(job, "KEY", testKey(t))))
		out := filepath.Join(dir, "out")
		if a := pacsgp(t, "train", filepath.Join(dir, "job.yaml"), "-o", out); a.status != 0 {
			t.Fatalf("%s: status %d: %s", name, a.status, a.message)
		}
		to := filepath.Join(version, name)
		fatal.If(t, os.Mkdir(to, 0o755))
		for _, pattern := range []string{"model-*", "certificate-*.json", "signature-*"} {
			found, err := filepath.Glob(filepath.Join(out, pattern))
			fatal.If(t, err)
			for _, path := range found {
				copyInto(t, path, to)
			}
		}
		if name == "plain" {
			copyInto(t, only(t, filepath.Join(out, "certificate-*.parquet")), to)
		}
	}
}

// What a version has published verifies for ever, in both programs: rows are read, given roles,
// scaled, added up and judged as they were then. docs/format.md says what is frozen.
func TestGoldenArtifacts(t *testing.T) {
	folder := filepath.Join("testdata", "golden")
	if *golden != "" {
		makeGolden(t, filepath.Join(folder, *golden))
	}
	models, err := filepath.Glob(filepath.Join(folder, "*", "*", "model-*.parquet"))
	if err != nil || len(models) == 0 {
		t.Fatalf("there are no golden artifacts: %v", err)
	}
	var calls [][]string
	var statuses []int
	for _, model := range models {
		dir := filepath.Dir(model)
		rows, certificate := filepath.Join(filepath.Dir(dir), "rows.parquet"), only(t, filepath.Join(dir, "certificate-*.json"))
		forms := []string{certificate}
		if row := strings.TrimSuffix(certificate, "json") + "parquet"; filepath.Base(dir) == "plain" {
			forms = append(forms, row)
		}
		for _, form := range forms {
			call := []string{"verify", model, form, rows}
			a := pacsgp(t, append(call, "--json")...)
			var said verdictDocument
			if err := json.Unmarshal([]byte(a.stdout), &said); err != nil || a.status != 0 && a.status != exitNotCertified || !said.Evidence {
				t.Errorf("%s: status %d, %v: %s", form, a.status, err, a.message)
			}
			calls, statuses = append(calls, call), append(statuses, a.status)
		}
		if filepath.Base(dir) == "plain" {
			trusted := filepath.Join(filepath.Dir(testKey(t)), "public.pem")
			if a := pacsgp(t, "verify", model, certificate, "--trusted", trusted); a.status != exitNotCertified || !strings.Contains(a.stdout, "signed with the trusted key") {
				t.Errorf("%s: its signature: %s", dir, a.message)
			}
		}
	}
	for i, run := range verifytest.Verify(t, calls) {
		if run.Status != statuses[i] || run.Refused != "" {
			t.Errorf("%s in Python: status %d, want %d: %s", calls[i][2], run.Status, statuses[i], run.Refused)
		}
	}
}
