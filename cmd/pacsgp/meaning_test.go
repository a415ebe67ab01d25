package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

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
		r := record(t, filepath.Join(dir, "out"))
		model, certificate := filepath.Join(dir, "out", r.Model), filepath.Join(dir, "out", r.Certificate)
		succeed(t, "predict", model, certificate, lake, "-o", filepath.Join(dir, "p.parquet"))
		if out, status := verifytest.Python(t, "-m", "pacsgp", "verify", model, certificate, lake); status == 1 {
			t.Errorf("%s: %s", stated, out)
		}
		for given, other := range kinds {
			if given == stated {
				continue
			}
			path := filepath.Join(dir, "new", strings.ReplaceAll(given, " ", "-")+".parquet")
			meant(t, path, other.typ, other.value)
			said := fmt.Sprintf(`"t" is a %s in the model and a %s in these rows`, stated, given)
			pacsgp(t, "predict", model, certificate, path, "-o", filepath.Join(dir, "q.parquet")).says(t, exitFailure, said)
			if stated != "local time" {
				continue
			}
			score := filepath.Join(dir, "score.yaml")
			writeFile(t, score, fmt.Appendf(nil, "model: out\nsource: {paths: [%q]}\noutput: scored\n", path))
			if a := pacsgp(t, "score", "-c", score, "--once"); a.status != exitFailure || !strings.Contains(a.log+a.stdout, "is a "+stated+" in the model") {
				t.Errorf("score says %d: %+v", a.status, a)
			}
			out, status := verifytest.Python(t, "-c", "import sys, pacsgp; pacsgp.Model(*sys.argv[1:3]).predict(sys.argv[3])", model, certificate, path)
			if status != 1 || !strings.Contains(out, fmt.Sprintf("'t' is '%s' in the model and '%s' in these rows", stated, given)) {
				t.Errorf("Python, %s for %s: %d %s", given, stated, status, out)
			}
		}
	}
}
