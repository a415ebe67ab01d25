package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
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
}

// A full disk is reported with the folder that the score file names, and a remedy.
func TestScoreToAFullDisk(t *testing.T) {
	dir, _, score := following(t, 1, 20)
	full := hooked(func(op durabletest.Operation, effect func() error) error {
		if op.Kind == durabletest.Write && strings.Contains(op.Name, "predicted") {
			return &os.PathError{Op: op.Kind, Path: op.Name, Err: syscall.ENOSPC}
		}
		return effect()
	})
	ends := func(score, folder string) {
		t.Helper()
		a := pacsgpOn(t, full, nil, "score", "-c", score, "--once")
		a.says(t, exitFailure, "predictions cannot be written, for the disk is full: "+folder+": no space left on device", "hint: free space, then run the same command again")
		if strings.Contains(a.message, ".parquet") || strings.Contains(a.message, "job") {
			t.Errorf("it says %s", a.message)
		}
	}
	writeFile(t, score, []byte("model: out\nsource: {paths: [new]}\noutput: predicted\npoll: 10ms\n"))
	ends(score, filepath.Join(dir, "predicted"))
	s := topicOf(t, seededTopics(t), 20, "")
	s.send(t)
	ends(s.toLake(t, "first", "predicted", ""), filepath.Join(s.dir, "predicted"))
}
