package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

func TestScoreFaults(t *testing.T) {
	dir, _, score := following(t, 1, 20)
	writeFile(t, score, []byte("model: out\nsource: {paths: [new]}\noutput: new/scored"))
	pacsgp(t, "score", "-c", score, "--once").says(t, exitConfig, "pacsgp: bad score file: ", ":3:9: output: ", "lies in the data")
	writeFile(t, score, []byte("model: nothing\nsource: {paths: [new]}\noutput: scored"))
	fatal.If(t, os.Mkdir(filepath.Join(dir, "nothing"), 0o755))
	pacsgp(t, "score", "-c", score, "--once").says(t, exitFailure, "nothing is current")
}
