package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// scripted makes this test binary be the command pacsgp of scripts; its demo is small.
func scripted(m testscript.TestingM) {
	testscript.Main(m, map[string]func(){"pacsgp": func() {
		theDemo = demoSize{rows: 900, fresh: 300, files: 2, inducing: 16}
		main()
	}})
}

// tests is a run of tests that scripts can be part of.
type tests func() int

// Run runs them.
func (t tests) Run() int { return t() }

// The scripts in testdata/script; each begins in a folder of its own, with 180 rows in three Parquet
// files in lake, and a job.yaml of a fraction of a second, unless it has its own. $EXAMPLES is examples/, and $PYTHON the
// interpreter of the second verifier, if there is one.
//
//	status N command …   the command ends with this exit status
//	rows DIR FIRST N     a Parquet file of rows of that kind, or with "other" behind of another function
//	broker               a broker at $BROKER, with the topics rows and predictions, of three partitions
//	send FIRST N         records of such rows on the topic rows
//	produce TOPIC FILE   records with the lines of a file
//	remake TOPIC         deletes a topic, and makes one of its name
//	records TOPIC        prints the values of committed records, one a line
//	[python], [sklearn]  $PYTHON has what the package needs, or scikit-learn too
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("EXAMPLES", filepath.Join(verifytest.Root(t), "examples"))
			for name, value := range map[string]string{"PYTHON": os.Getenv("PACSGP_PYTHON"), "PYTHONPATH": filepath.Join(verifytest.Root(t), "python"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} {
				e.Setenv(name, value)
			}
			if _, err := os.Stat(filepath.Join(e.WorkDir, "job.yaml")); errors.Is(err, os.ErrNotExist) {
				tiny(nil).write(t, e.WorkDir)
			}
			return smallRows(t).WriteLake(t.Context(), filepath.Join(e.WorkDir, "lake"), 3, 0, 180)
		},
		Condition: has,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": wantStatus,
			"rows": func(ts *testscript.TestScript, _ bool, args []string) {
				g, err := synth.New(synth.Config{Seed: smallSeed + uint64(len(args)-3), Noise: 0.1, Features: 2})
				ts.Check(err)
				first, n := span(ts, args[1:])
				ts.Check(g.WriteLake(t.Context(), ts.MkAbs(args[0]), 1, first, n))
			},
			"broker": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("BROKER", cluster(t, kfake.SeedTopics(3, "rows", "predictions")).ListenAddrs()[0])
			},
			"send": func(ts *testscript.TestScript, _ bool, args []string) {
				first, n := span(ts, args)
				sendRows(t, ts.Getenv("BROKER"), first, n)
			},
			"produce": func(ts *testscript.TestScript, _ bool, args []string) {
				var records []*kgo.Record
				for line := range strings.Lines(ts.ReadFile(args[1])) {
					records = append(records, &kgo.Record{Topic: args[0], Partition: int32(len(records) % 3), Value: []byte(strings.TrimSpace(line))})
				}
				send(t, ts.Getenv("BROKER"), records...)
			},
			"remake": func(ts *testscript.TestScript, _ bool, args []string) { remake(t, ts.Getenv("BROKER"), args[0], 3) },
			"records": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, r := range committedRecords(t, ts.Getenv("BROKER"), args[0]) {
					_, _ = fmt.Fprintln(ts.Stdout(), strings.ReplaceAll(strconv.Quote(string(r.Value)), `\"`, `"`))
				}
			},
		},
	})
}

// span reads the first one and the number of rows.
func span(ts *testscript.TestScript, args []string) (first, n int64) {
	_, err := fmt.Sscan(strings.Join(args, " "), &first, &n)
	ts.Check(err)
	return first, n
}

// has reports whether Python is there for a script, or Python with scikit-learn. In CI both must be.
func has(condition string) (bool, error) {
	path, module := os.Getenv("PACSGP_PYTHON"), map[string]string{"python": "pyarrow", "sklearn": "sklearn"}[condition]
	err := exec.CommandContext(context.Background(), path, "-c", "import "+module).Run()
	if err != nil && os.Getenv("CI") != "true" {
		return false, nil
	}
	return true, err
}

func wantStatus(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) < 2 {
		ts.Fatalf("usage: status N command …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		if got := ended.ExitCode(); got != want {
			ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
		}
	} else if ts.Check(err); want != 0 {
		ts.Fatalf("%v: exit status 0, want %d", args[1:], want)
	}
}

// The tutorial, done as a reader would: its files are written, its commands run, and they print what
// the page shows. Other instruction sets than the author's may give other digits.
func TestTutorial(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("trains three times")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	fatal.If(t, err)
	dir, python, printed, commands := t.TempDir(), os.Getenv("PACSGP_PYTHON"), "", 0
	fatal.If(t, os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "deliveries"))))
	digits := regexp.MustCompile(`[0-9a-f]{12}\b`)
	if !strings.Contains(pacsgp(t, "version").stdout, "avx") {
		digits = regexp.MustCompile(`[0-9a-f.,]*[0-9][0-9a-f.,]*`)
	}
	page, blocks := string(readFile(t, filepath.Join(root, "docs", "tutorial.md"))), regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")
	for _, block := range blocks.FindAllStringSubmatch(page, -1) {
		kind, text := block[1], block[2]
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", text)
		switch {
		case kind == "yaml":
			name, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
			writeFile(t, filepath.Join(dir, name), []byte(text))
		case kind == "text" && printed != "" && digits.ReplaceAllString(printed, "N") != digits.ReplaceAllString(text, "N"):
			t.Errorf("the page shows\n%s\nbut after %d commands it is\n%s", text, commands, printed)
		case kind == "python" && python == "":
			printed = "" // there is nothing to compare
		case kind == "python":
			cmd = exec.CommandContext(t.Context(), python, "-c", text)
			fallthrough
		case kind == "sh":
			cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "PYTHONPATH="+filepath.Join(root, "python")), t.Output()
			out, err := cmd.Output()
			fatal.If(t, err)
			printed, commands = string(out), commands+1
		}
	}
	if shown := blocks.FindAllStringSubmatch(string(readFile(t, filepath.Join(root, "README.md"))), 4)[2]; commands < 5 || !strings.Contains(page, shown[2]) {
		t.Errorf("after %d commands: the README shows another result:\n%s", commands, shown[2])
	}
}

// hooked is the real file system under a hook that decides what becomes of every operation that
// changes something. It syncs nothing: a killed process loses nothing written, so that only the
// order of operations matters here. (Power cuts are tested in sink/lake.)
func hooked(hook func(op durabletest.Operation, effect func() error) error) durable.FS {
	return durabletest.Hooked{FS: durable.OS{}, Hook: func(op durabletest.Operation, effect func() error) error {
		if op.Kind == durabletest.Sync || op.Kind == durabletest.SyncDir {
			effect = func() error { return nil }
		}
		return hook(op, effect)
	}}
}

// plain lets everything happen.
func plain() durable.FS {
	return hooked(func(_ durabletest.Operation, effect func() error) error { return effect() })
}
