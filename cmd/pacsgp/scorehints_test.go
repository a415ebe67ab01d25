package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// Hints of what a job could do otherwise are none for who predicts: the model says which
// columns it needs.
func TestHintsFitTheCommand(t *testing.T) {
	dir, _, score := following(t, 1, 20)
	texts := filepath.Join(dir, "new", "texts.parquet")
	if err := parquet.WriteFile(texts, []struct {
		X1 float64 `parquet:"x1"`
		X2 string  `parquet:"x2"`
		Y  float64 `parquet:"y"`
	}{{1, "a", 2}}); err != nil {
		t.Fatal(err)
	}
	const what, hint = `texts.parquet: column "x2" is text, which is not read as numbers: encode it as numbers`, "or leave it out of the features"
	trains := pacsgp(t, "train", "-c", tiny(jobFile{"source": "{paths: [new/texts.parquet]}", "features": "[x1, x2]"}).write(t, dir))
	trains.says(t, exitConfig, what, hint)
	c := retrained(t, dir, nil)
	predicts := pacsgp(t, "predict", c.model, c.certificate, texts, "-o", filepath.Join(dir, "p.parquet"))
	predicts.says(t, exitFailure, what)
	scores := pacsgp(t, "score", "-c", score, "--once")
	scores.says(t, exitFailure, "1 file could not be predicted")
	if !strings.Contains(scores.log, strings.ReplaceAll(what, `"`, `\"`)) {
		t.Errorf("score says %s", scores.log)
	}
	for _, said := range []string{predicts.message, predicts.log, scores.message, scores.log} {
		if strings.Contains(said, "leave it out") || strings.Contains(said, "features") {
			t.Errorf("it says %s", said)
		}
	}
	writeFile(t, score, []byte("model: out\nsource: {paths: [new]}\noutput: scored\nkeeps: [y]\n"))
	if a := pacsgp(t, "score", "-c", score, "--once"); !strings.Contains(a.message, "pacsgp: bad score file: ") {
		t.Errorf("it says %s", a.message)
	}
}
