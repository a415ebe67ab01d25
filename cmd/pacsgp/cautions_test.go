package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Who puts a model to use hears the same of its certificate, whichever command it is: what
// is its maker's word. score says it once a model.
func TestCautionsOfAConditionalCertificate(t *testing.T) {
	a := heldOut(t)
	predictions := filepath.Join(t.TempDir(), "predictions.parquet")
	score := filepath.Join(a.dir, "score.yaml")
	writeFile(t, score, []byte("model: "+a.out+"\nsource: {paths: [new]}\noutput: scored\n"))
	lines(30).write(t, filepath.Join(a.dir, "new", "a.parquet"))
	lines(20).write(t, filepath.Join(a.dir, "new", "b.parquet"))
	for _, args := range [][]string{
		{"predict", a.model, a.certificate, a.lake, "-o", predictions},
		{"promote", a.id, a.out, "--judge", "mean"},
		{"score", "-c", score, "--once"},
	} {
		said := succeed(t, args...)
		for _, word := range []string{
			"is conditional: it is its maker's word that training did not see the hold-out rows",
			"was not checked against rows: how often the model missed is its maker's word",
		} {
			if strings.Count(said.log, word) != 1 {
				t.Errorf("%s says %d times, want once: %q\n%s", args[0], strings.Count(said.log, word), word, said.log)
			}
		}
	}
}
