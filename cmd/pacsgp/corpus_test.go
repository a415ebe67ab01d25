package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

var makeCorpus = flag.String("make-corpus", "", "the cases of testdata/corpus, as a pattern (* for all), whose models, certificates and verdicts are made again from their jobs and rows")

// corpus has a folder for each case: job.yaml, a job before.yaml that used its rows before, rows
// (those of the folder above, if it has none of its own), model, certificate and verdict.
var corpus = filepath.Join("testdata", "corpus")

// What a verifier finds of an artifact, and what its model predicts of the first rows.
type verdictOfCase struct {
	Status     int
	Guarantees map[certify.ClaimID]verdictOfGuarantee
	Mean       []float64
}

type verdictOfGuarantee struct {
	Status string
	Bound  float64
}

// A corpusCase is a folder of the corpus.
type corpusCase struct{ name, dir, rows, model, certificate string }

func (c corpusCase) verify() []string { return []string{"verify", c.model, c.certificate, c.rows} }

func corpusCases(t *testing.T) (all []corpusCase) {
	t.Helper()
	for _, job := range found(t, corpus, "*", "job.yaml") {
		dir := filepath.Dir(job)
		c := corpusCase{name: filepath.Base(dir), dir: dir, model: filepath.Join(dir, "model.parquet"), certificate: filepath.Join(dir, "certificate.json")}
		for _, rows := range []string{"rows", "rows.parquet", "../rows.parquet"} {
			if _, err := os.Stat(filepath.Join(dir, rows)); err == nil && c.rows == "" {
				c.rows = filepath.Join(dir, rows)
			}
		}
		all = append(all, c)
	}
	return all
}

// The artifacts of the corpus verify in both programs, which predict the same numbers from them.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range corpusCases(t) {
		if made, err := filepath.Match(*makeCorpus, c.name); err == nil && made {
			makeCase(t, c)
		}
	}
	cases := corpusCases(t)
	if len(cases) < 15 {
		t.Fatalf("the corpus has %d cases", len(cases))
	}
	wants := map[string]verdictOfCase{}
	for _, c := range cases {
		var want verdictOfCase
		fatal.If(t, json.Unmarshal(readFile(t, filepath.Join(c.dir, "verdict.json")), &want))
		if d := cmp.Diff(want, verdictOn(t, c)); d != "" {
			t.Errorf("%s (-stored +found):\n%s", c.name, d)
		}
		wants[c.name] = want
	}
	var calls [][]string
	predict := []string{}
	for _, c := range cases {
		calls, predict = append(calls, c.verify()), append(predict, c.model, c.certificate, c.rows)
	}
	means := strings.Split(verifytest.Script(t, `
import sys, warnings, numpy as np, pacsgp.kernels
warnings.simplefilter("ignore")
for model, certificate, rows in zip(*(sys.argv[1 + i::3] for i in range(3))):
    print(np.nan_to_num(pacsgp.Model(model, certificate).predict(rows)[:20]).tolist())
print(*pacsgp.kernels.FAMILIES)
`, predict...), "\n")
	if d := cmp.Diff(certify.Families(), strings.Fields(means[len(cases)])); d != "" {
		t.Errorf("Python has other kernels (-want +got):\n%s", d)
	}
	runs := verifytest.Verify(t, calls)
	for i, c := range cases {
		want := wants[c.name]
		if run := runs[i]; run.Status != want.Status {
			t.Errorf("%s in Python: status %d, want %d: %s", c.name, run.Status, want.Status, run.Out)
		}
		var mean []float64
		fatal.If(t, json.Unmarshal([]byte(means[i]), &mean))
		if d := cmp.Diff(want.Mean, mean, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("%s in Python: other predictions (-want +got):\n%s", c.name, d)
		}
	}
}

// verdictOn is what this program finds.
func verdictOn(t *testing.T, c corpusCase) verdictOfCase {
	t.Helper()
	a := pacsgp(t, append(c.verify(), "--json")...)
	var said verdictDocument
	if err := json.Unmarshal([]byte(a.stdout), &said); err != nil || said.Verdict != "VERIFIED" {
		t.Errorf("%s: status %d, %v: %s", c.name, a.status, err, a.message)
	}
	found := verdictOfCase{Status: a.status, Guarantees: map[certify.ClaimID]verdictOfGuarantee{}}
	for _, g := range said.Claims {
		found.Guarantees[g.ID] = verdictOfGuarantee{string(g.Status), g.Bound}
	}
	to := filepath.Join(t.TempDir(), "predictions.parquet")
	succeed(t, "predict", c.model, c.certificate, c.rows, "-o", to)
	for _, p := range predictions(t, to)[:20] {
		if p.Mean == nil {
			p.Mean = new(float64) // a row without one
		}
		found.Mean = append(found.Mean, *p.Mean)
	}
	return found
}

// makeCase trains the job of a case, and keeps model, certificate and verdict.
func makeCase(t *testing.T, c corpusCase) {
	t.Helper()
	above := t.TempDir()
	fatal.If(t, os.CopyFS(above, os.DirFS(corpus)))
	work := filepath.Join(above, c.name)
	out := filepath.Join(work, "out")
	for _, name := range []string{"before.yaml", "job.yaml"} {
		job := filepath.Join(work, name)
		text, err := os.ReadFile(job)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		fatal.If(t, err)
		if bytes.Contains(text, []byte("BROKER")) {
			fatal.If(t, os.RemoveAll(filepath.Join(work, "rows")))
			writeFile(t, job, bytes.ReplaceAll(text, []byte("BROKER"), []byte(strconv.Quote(smallTopic(t).ListenAddrs()[0]))))
		}
		if a := pacsgp(t, "train", job, "-o", out); a.status != 0 && a.status != exitNotCertified {
			t.Fatalf("%s: status %d: %s", job, a.status, a.message)
		}
	}
	r := record(t, out)
	writeFile(t, c.model, readFile(t, filepath.Join(out, r.Model)))
	writeFile(t, c.certificate, readFile(t, filepath.Join(out, r.Certificate)))
	if c.name == "zero-one" {
		fatal.If(t, errors.Join(os.Remove(filepath.Join(out, "run.png")), os.Remove(filepath.Join(out, ".lock"))))
		fatal.If(t, os.RemoveAll(filepath.Join(c.dir, "out")))
		fatal.If(t, os.CopyFS(filepath.Join(c.dir, "out"), os.DirFS(out)))
	}
	if c.name == "window" {
		c.rows = filepath.Join(c.dir, "rows")
		fatal.If(t, os.RemoveAll(c.rows))
		fatal.If(t, os.CopyFS(c.rows, os.DirFS(filepath.Join(work, "rows"))))
	}
	data, err := json.MarshalIndent(verdictOn(t, c), "", "  ")
	fatal.If(t, err)
	writeFile(t, filepath.Join(c.dir, "verdict.json"), append(data, '\n'))
}

// All files of an output folder are read as they were once written: nothing is trained again, and both
// programs find what is current and the row of the certificate.
func TestOutputOfTheCorpus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fatal.If(t, os.CopyFS(dir, os.DirFS(corpus)))
	rows, out := filepath.Join(dir, "rows.parquet"), filepath.Join(dir, "zero-one", "out")
	fatal.If(t, os.Chtimes(rows, time.Unix(0, 0), time.Unix(0, 0))) // before that run
	pacsgp(t, "train", filepath.Join(dir, "zero-one", "job.yaml"), "-o", out).logs(t, 0, "nothing is trained")
	succeed(t, "verify", out, rows)
	row := []string{"verify", only(t, filepath.Join(out, "model-*.parquet")), only(t, filepath.Join(out, "certificate-*.parquet")), rows}
	succeed(t, row...)
	if run := verifytest.Verify(t, [][]string{row})[0]; run.Status != 0 {
		t.Errorf("Python: %s", run.Out)
	}
	if said, status := verifytest.Python(t, "-c", "import pacsgp, sys; print(pacsgp.Model(sys.argv[1]).id)", out); status != 0 || !strings.Contains(row[2], strings.TrimSpace(said)) {
		t.Errorf("Python: status %d: %s", status, said)
	}
}

// The verifier in Python refuses hostile files instead of the rows.
func TestPythonRefusesHostileFiles(t *testing.T) {
	t.Parallel()
	files := found(t, "..", "..", "ingest", "lake", "testdata", "hostile", "*.parquet")
	var calls [][]string
	for _, file := range files {
		calls = append(calls, []string{"verify", filepath.Join(corpus, "zero-one", "model.parquet"), filepath.Join(corpus, "zero-one", "certificate.json"), file})
	}
	for i, run := range verifytest.Verify(t, calls) {
		if run.Status != exitFailure {
			t.Errorf("%s: status %d: %s", files[i], run.Status, run.Out)
		}
	}
}
