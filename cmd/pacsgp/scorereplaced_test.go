package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A file that is replaced has a second file of predictions beside the first unless the score
// file declares otherwise, and the log says so. A copy under another name is a file of its own.
func TestScoreOfAReplacedFile(t *testing.T) {
	dir, _, score := following(t, 2, 40)
	declared := string(readFile(t, score))
	run := func(extra string, said ...string) {
		t.Helper()
		writeFile(t, score, []byte(declared+extra))
		a := pacsgp(t, "score", "-c", score, "--once")
		a.says(t, 0)
		for _, want := range said {
			if !strings.Contains(a.log, want) {
				t.Errorf("it says %s, want %q", a.log, want)
			}
		}
	}
	files := func(name string, want int) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, "scored", "new", name+"-*.parquet"))
		if fatal.If(t, err); len(found) != want {
			t.Errorf("%s has the files of predictions %q, want %d", name, found, want)
		}
	}
	replaced, small := filepath.Join(dir, "new", "part-00.parquet"), make([]float64, 30)
	run("")
	table{"x1": small, "x2": small, "y": small}.write(t, replaced)
	run("", "part-00.parquet was replaced: the predictions of its earlier content stay", `"hint":"replaced: remove removes such"`)
	files("part-00", 2)
	run("replaced: remove\n", "part-00.parquet was replaced: the predictions of its earlier content are removed")
	files("part-00", 1)
	files("part-01", 1)
	if rows := scored(t, dir)["part-00"]; len(rows) != 30 {
		t.Errorf("%d predictions, want those of the 30 new rows", len(rows))
	}
	writeFile(t, replaced, readFile(t, filepath.Join(dir, "new", "part-01.parquet")))
	fatal.If(t, os.Rename(filepath.Join(dir, "new", "part-01.parquet"), filepath.Join(dir, "new", "moved.parquet")))
	run("replaced: remove\n", "are removed")
	for name, rows := range scored(t, dir) {
		if len(rows) != 40 {
			t.Errorf("%s: %d predictions, want 40", name, len(rows))
		}
		files(name, 1)
	}
	files("part-01", 1) // the file is gone, and was not replaced
}
