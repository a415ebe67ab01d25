package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestScoreFaults(t *testing.T) {
	dir, _, score := following(t, 1, 20)
	writeFile(t, score, []byte("model: out\nsource: {paths: [new]}\noutput: new/scored"))
	pacsgp(t, "score", "-c", score, "--once").says(t, exitConfig, "pacsgp: bad score file: ", "[3:9] output: ", "lies in the data")
	writeFile(t, score, []byte("model: nothing\nsource: {paths: [new]}\noutput: scored"))
	if err := os.Mkdir(filepath.Join(dir, "nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	pacsgp(t, "score", "-c", score, "--once").says(t, exitFailure, "nothing is current")
}
