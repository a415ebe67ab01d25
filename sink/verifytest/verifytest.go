// Package verifytest lets tests run the second implementation of docs/reference/formats.md, the
// Python package python/pacsgp, on their files.
package verifytest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Python runs the interpreter PACSGP_PYTHON with these arguments, and returns output and exit status. The interpreter
// needs the packages in python/requirements.txt. If PACSGP_PYTHON is not set, the test is skipped, or fails in CI.
func Python(t testing.TB, args ...string) (output string, status int) {
	t.Helper()
	if os.Getenv("PACSGP_PYTHON") == "" {
		fatal.Missing(t, "PACSGP_PYTHON names no Python interpreter with the packages of python/requirements.txt: `make test-all` sets one up")
	}
	cmd := command(t, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", cmd.Path, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Getenv("PACSGP_PYTHON"), args...) //nolint:gosec // the tester names the interpreter
	// One thread: OpenMP threads wait in busy loops and slow down tests that run at the same time.
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(Root(t), "python"), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	return cmd
}

// ends stops a script without an orderly shutdown, in which Arrow's threads can abort the
// interpreter (apache/arrow#34314).
const ends = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"

// Script runs a Python script that must succeed, and returns what it prints.
func Script(t testing.TB, lines string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.py")
	fatal.If(t, os.WriteFile(file, []byte(lines+ends), 0o600))
	out, status := Python(t, append([]string{file}, args...)...)
	if status != 0 {
		t.Fatalf("exit status %d:\n%s", status, out)
	}
	return strings.TrimSpace(out)
}

// Need skips the test, or fails it in CI, if PACSGP_PYTHON is not set.
func Need(t testing.TB) {
	t.Helper()
	Python(t, "--version")
}

// A Run is the result of one command of the Python package.
type Run struct {
	Status     int      `json:"status"`
	Verdict    string   `json:"verdict"`
	NotChecked []string `json:"not_checked"`
	Refused    string   `json:"refused"`
	Out        string   `json:"printed"`
}

// Verify runs commands of the Python package, each a list of arguments, in one process: importing
// the package takes longer than its work.
func Verify(t testing.TB, calls [][]string) []Run {
	t.Helper()
	Need(t)
	cmd := command(t, "-c", "import json, sys; from pacsgp.__main__ import main; [main([*json.loads(line), '--json']) for line in sys.stdin]")
	var in, failed bytes.Buffer
	for _, call := range calls {
		line, err := json.Marshal(call)
		fatal.If(t, err)
		in.Write(append(line, '\n'))
	}
	cmd.Stdin, cmd.Stderr = &in, &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, failed.String())
	}
	var runs []Run
	for line := range bytes.Lines(out) {
		var run Run
		fatal.If(t, json.Unmarshal(line, &run))
		runs = append(runs, run)
	}
	if len(runs) != len(calls) {
		t.Fatalf("%d runs for %d calls:\n%s", len(runs), len(calls), failed.String())
	}
	return runs
}

// Root returns the root folder of this module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("go.mod is in no folder above: %v", err)
	return ""
}
