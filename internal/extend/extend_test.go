package extend

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// additions are the folders of testdata: tree.diff is the patch, job.yaml a job that uses
// what it adds, over the folder lake, unless it reads rows.csv, and into the folder out.
var additions = []struct {
	folder string
	// touched is how many files the patch may change beside those that it adds.
	touched int
	// says is what the certificate says of it, and leaves what it leaves beside the output.
	says, leaves string
	// data is what verify reads, if it is not the lake.
	data string
	// tests are packages whose tests hold for what is added too.
	tests []string
	// foreign says that the Python package verifies it too.
	foreign bool
}{
	{folder: "kernel", touched: 6, says: `"family": "matern-7/2"`, tests: []string{"./model/kernel"}, foreign: true},
	{folder: "loss", touched: 6, says: `"kind": "absolute"`, tests: []string{"./model/loss"}, foreign: true},
	{folder: "hoeffding", touched: 5, says: `"id": "hoeffding"`, tests: []string{"./certify"}, foreign: true},
	{folder: "source", touched: 3, data: "rows.csv", tests: []string{"./ingest/csvfile", "./cmd/config"}},
	{folder: "sink", touched: 4, leaves: "copies/????????????????????????????????????????????????????????????????", tests: []string{"./sink/copies", "./cmd/config"}, foreign: true},
}

// What package pipeline's documentation says of where to add something is enough, and is no
// more than the stated number of files.
func TestAdditions(t *testing.T) {
	for _, a := range additions {
		t.Run(a.folder, func(t *testing.T) {
			patch, err := filepath.Abs(filepath.Join("testdata", a.folder, "tree.diff"))
			fatal.If(t, err)
			if n := touched(t, patch); n > a.touched {
				t.Errorf("the patch changes %d files beside its own, want at most %d", n, a.touched)
			}
			run(t, "../..", "git", "apply", "--check", "--whitespace=nowarn", patch)
			if testing.Short() {
				t.Skip("a copy of the tree is built and tested, for minutes: the nightly suite does that")
			}
			tree, work := copyOfTree(t), t.TempDir()
			run(t, tree, "git", "apply", "--whitespace=nowarn", patch)
			run(t, tree, "go", append([]string{"test", "-short"}, a.tests...)...)
			command := filepath.Join(work, "pacsgp")
			run(t, tree, "go", "build", "-buildvcs=false", "-o", command, "./cmd/pacsgp")
			model, certificate := trained(t, command, a.folder, work)
			if text, err := os.ReadFile(certificate); err != nil || !strings.Contains(string(text), a.says) {
				t.Errorf("the certificate does not say %s (%v)", a.says, err)
			}
			if left, err := filepath.Glob(filepath.Join(work, a.leaves)); err != nil || a.leaves != "" && len(left) != 2 {
				t.Errorf("it leaves %q (%v), want two files", left, err)
			}
			run(t, work, command, "verify", "--judge", "draw", model, certificate, cmp.Or(a.data, "lake"))
			if a.foreign {
				rows, err := filepath.Glob(filepath.Join(work, "lake", "*.parquet"))
				if err != nil || len(rows) == 0 {
					t.Fatalf("the lake has %d files (%v)", len(rows), err)
				}
				args := append([]string{"-c", fromTree, filepath.Join(tree, "python"), "verify", model, certificate}, rows...)
				// 3 says that the bound of the mean is vacuous, and nothing else is amiss.
				if out, status := verifytest.Python(t, args...); status != 0 && status != 3 {
					t.Errorf("python: exit status %d:\n%s", status, out)
				}
			}
		})
	}
}

// fromTree runs the Python package of another tree.
const fromTree = "import sys; sys.path.insert(0, sys.argv.pop(1)); from pacsgp.__main__ import main; sys.exit(main(sys.argv[1:])[0])"

// touched counts the files that a patch changes, without those that it adds.
func touched(t *testing.T, patch string) (n int) {
	t.Helper()
	text, err := os.ReadFile(patch)
	fatal.If(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "--- a/") {
			n++
		}
	}
	return n
}

// trained trains the folder's job on a small lake, and returns what the run published.
func trained(t *testing.T, command, folder, work string) (model, certificate string) {
	t.Helper()
	generator, err := synth.New(synth.Config{Seed: 1, Noise: 0.1})
	fatal.If(t, err)
	fatal.If(t, generator.WriteLake(t.Context(), filepath.Join(work, "lake"), 2, 0, 3000))
	lines := []byte("x,y\n")
	for i := range 3000 {
		x := 6 * float64(i*1234567%3000) / 3000
		lines = fmt.Appendf(lines, "%g,%g\n", x, 3*math.Sin(2*x))
	}
	fatal.If(t, os.WriteFile(filepath.Join(work, "rows.csv"), lines, 0o600))
	job, err := os.ReadFile(filepath.Join("testdata", folder, "job.yaml"))
	fatal.If(t, err)
	fatal.If(t, os.WriteFile(filepath.Join(work, "job.yaml"), job, 0o600))
	run(t, work, command, "train", "-c", "job.yaml")
	one := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(work, "out", pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("the run left %d files %s (%v)", len(found), pattern, err)
		}
		return found[0]
	}
	return one("model-*.parquet"), one("certificate-*.json")
}

// run runs a command that must succeed.
func run(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out.Bytes())
	}
}

// copyOfTree copies this module into a temporary folder, but for hidden files.
func copyOfTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(tree, path), 0o750)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(tree, path), data, 0o600)
	})
	fatal.If(t, err)
	return tree
}
