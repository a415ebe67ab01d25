package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// An artifact is what a run left, by path.
type artifact struct {
	dir, out, model, certificate, id string
	lake                             string
}

// train makes an artifact of the tiny job on the small lake.
func trained(t *testing.T) artifact {
	t.Helper()
	dir := smallLake(t)
	return retrained(t, dir, nil)
}

// retrained makes an artifact on the lake in dir.
func retrained(t *testing.T, dir string, change jobFile) artifact {
	t.Helper()
	out := t.TempDir()
	a := pacsgp(t, "train", "-c", tiny(change).write(t, dir), "-o", out)
	if a.status != 0 && a.status != exitNotCertified {
		t.Fatal(a.message)
	}
	return artifactIn(t, dir, out)
}

// artifactIn is that of the last run in an output, on the lake in dir.
func artifactIn(t *testing.T, dir, out string) artifact {
	t.Helper()
	r := record(t, out)
	return artifact{
		dir: dir, out: out, lake: filepath.Join(dir, "lake"),
		model: filepath.Join(out, r.Model), certificate: filepath.Join(out, r.Certificate), id: r.ID,
	}
}

// says demands the status, and these words on stdout or, if it failed, in the
// message, with nothing on stdout that sounds like success.
func (a answer) says(t *testing.T, status int, words ...string) {
	t.Helper()
	text := a.stdout
	if status != 0 {
		text = a.message
		for _, lie := range []string{"verified", "consistent", "certified"} {
			if strings.Contains(a.stdout, lie) {
				t.Errorf("status %d, and stdout says %q", a.status, a.stdout)
			}
		}
	}
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.message)
	}
	holds(t, text, words...)
}

// logs demands the status, and these words in the log.
func (a answer) logs(t *testing.T, status int, words ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.message)
	}
	holds(t, a.log, words...)
}

func holds(t *testing.T, text string, words ...string) {
	t.Helper()
	line := strings.Join(strings.Fields(text), " ") // results are wrapped
	for _, word := range words {
		if !strings.Contains(text, word) && !strings.Contains(line, word) {
			t.Errorf("%q is missing in %q", word, text)
		}
	}
}

// A manifest is believed in nothing.
func TestManifestThatLiesIsRefused(t *testing.T) {
	a := trained(t)
	fatal.If(t, smallRows(t).WriteLake(t.Context(), filepath.Join(a.dir, "lake", "later"), 1, 180, 60))
	manifest := filepath.Join(a.out, sinklake.ManifestName(a.id))
	good := readFile(t, manifest)
	lie := func(what string, change func(m *pipeline.Manifest), want string) {
		t.Helper()
		var m pipeline.Manifest
		fatal.If(t, json.Unmarshal(good, &m))
		change(&m)
		text, err := json.Marshal(m)
		fatal.If(t, err)
		writeFile(t, manifest, text)
		got := pacsgp(t, "verify", a.model, a.certificate, a.lake)
		if got.status != exitFailure || !strings.Contains(got.message, want) {
			t.Errorf("%s: status %d, %q; want %q", what, got.status, got.message, want)
		}
	}
	lie("a file less", func(m *pipeline.Manifest) { m.Files = m.Files[1:] }, "not as many as")
	lie("two files swapped", func(m *pipeline.Manifest) { m.Files[0], m.Files[1] = m.Files[1], m.Files[0] }, "the sample digest")
	lie("another shard", func(m *pipeline.Manifest) { m.Files[0].Shards[0].Digest = m.Files[1].Shards[0].Digest }, "the sample digest")
	lie("another certificate", func(m *pipeline.Manifest) { m.Certificate = m.Sample }, "it is of the certificate")
	lie("rows moved", func(m *pipeline.Manifest) { m.Files[0].Rows++; m.Files[1].Rows-- }, "and its shards")
	lie("the descriptions of two files swapped", func(m *pipeline.Manifest) {
		m.Files[0].Footer, m.Files[1].Footer = m.Files[1].Footer, m.Files[0].Footer
		m.Files[0].Bytes, m.Files[1].Bytes = m.Files[1].Bytes, m.Files[0].Bytes
	}, "its values have changed")
	lie("a footer", func(m *pipeline.Manifest) { m.Files[0].Footer = m.Sample }, "or changed: 1 of ")
	lie("not a number of rows", func(m *pipeline.Manifest) { m.Files[0].Shards[0].Rows = -1 }, "a shard of -1 rows")
	writeFile(t, manifest, []byte("{"))
	pacsgp(t, "verify", a.model, a.certificate, a.lake).says(t, exitFailure, "it is no manifest")
}

// meant writes rows whose column t has a type, and values of quarters of an hour.
func meant(t *testing.T, path string, typ parquet.Node, value func(hours float64) any) {
	t.Helper()
	schema := parquet.NewSchema("row", parquet.Group{"t": typ, "y": parquet.Leaf(parquet.DoubleType)})
	rows := make([]map[string]any, 600)
	for i := range rows {
		hours := float64(i) / 4
		rows[i] = map[string]any{"t": value(hours), "y": hours/40 + float64(i*7919%97)/1000}
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[map[string]any](&file, schema)
	_, err := w.Write(rows)
	fatal.If(t, err)
	fatal.If(t, w.Close())
	writeFile(t, path, file.Bytes())
}

// A feature that means something else than in training is refused by its name, by all readers.
func TestOtherMeaningsAreRefused(t *testing.T) {
	micros := func(hours float64) any { return int64(1.7e15 + hours*3.6e9) }
	kinds := map[string]struct {
		typ   parquet.Node
		value func(float64) any
	}{
		"local time":  {parquet.TimestampAdjusted(parquet.Microsecond, false), micros},
		"time in UTC": {parquet.Timestamp(parquet.Microsecond), micros},
		"date":        {parquet.Date(), func(hours float64) any { return int32(19_000 + hours*4) }},
		"number":      {parquet.Int(64), func(hours float64) any { return int64(1.7e9 + hours*3600) }},
		"boolean":     {parquet.Leaf(parquet.BooleanType), func(hours float64) any { return int(hours)%2 == 0 }},
	}
	for stated, of := range kinds {
		dir := t.TempDir()
		lake := filepath.Join(dir, "lake", "a.parquet")
		meant(t, lake, of.typ, of.value)
		job := tiny(jobFile{"features": "[t]", "loss": "{epsilon: 0.5}", "inducing": "10"}).write(t, dir)
		pacsgp(t, "train", "-c", job)
		a := artifactIn(t, dir, filepath.Join(dir, "out"))
		succeed(t, "predict", a.model, a.certificate, lake, "-o", filepath.Join(dir, "p.parquet"))
		if out, status := verifytest.Python(t, "-m", "pacsgp", "verify", a.model, a.certificate, lake); status == 1 {
			t.Errorf("%s: %s", stated, out)
		}
		for given, other := range kinds {
			if given == stated {
				continue
			}
			path := filepath.Join(dir, "new", strings.ReplaceAll(given, " ", "-")+".parquet")
			meant(t, path, other.typ, other.value)
			said := fmt.Sprintf(`"t" is a %s in the model and a %s in these rows`, stated, given)
			pacsgp(t, "predict", a.model, a.certificate, path, "-o", filepath.Join(dir, "q.parquet")).says(t, exitFailure, said)
			pacsgp(t, "verify", a.model, a.certificate, path).says(t, exitFailure, said)
			if stated != "local time" {
				continue
			}
			score := filepath.Join(dir, "score.yaml")
			writeFile(t, score, fmt.Appendf(nil, "model: out\nsource: {paths: [%q]}\noutput: scored\n", path))
			pacsgp(t, "score", "-c", score, "--once").logs(t, exitFailure, "is a "+stated+" in the model")
			out, status := verifytest.Python(t, "-c", "import sys, pacsgp; pacsgp.Model(*sys.argv[1:3]).predict(sys.argv[3])", a.model, a.certificate, path)
			if status != 1 || !strings.Contains(out, fmt.Sprintf("'t' is '%s' in the model and '%s' in these rows", stated, given)) {
				t.Errorf("Python, %s for %s: %d %s", given, stated, status, out)
			}
		}
	}
}

// That rows depend on each other is a number in every form of the certificate.
func TestWarningsOfSuspiciousRows(t *testing.T) {
	dir, rising := t.TempDir(), make([]float64, 300)
	for i := range rising {
		rising[i] = float64(i) / 12
	}
	lines(300).with("y", rising).with("x1", rising).write(t, lakeFile(dir, 0))
	out := t.TempDir()
	a := pacsgp(t, "train", "-c", tiny(jobFile{"loss": "{epsilon: 8}"}).write(t, dir), "-o", out)
	if r := record(t, out); a.status != 0 || len(r.Warnings) == 0 || r.Draw.Status != certify.StatusCertified {
		t.Errorf("status %d (%s), warnings %v, the draw is %s", a.status, a.message, r.Warnings, r.Draw.Status)
	}
}
