// Package verifytest lets tests of several packages run the second implementation of
// docs/format.md, the Python package in python/pacsgp, on the files that they make.
package verifytest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Python runs a program in the interpreter that PACSGP_PYTHON names, which has
// the packages of python/requirements.txt, and returns what it prints and its
// exit status. Without an interpreter it skips the test, or fails it in CI.
func Python(t testing.TB, args ...string) (output string, status int) {
	t.Helper()
	interpreter := os.Getenv("PACSGP_PYTHON")
	if interpreter == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("PACSGP_PYTHON names no Python interpreter with the packages of python/requirements.txt")
		}
		t.Skip("PACSGP_PYTHON names no Python interpreter with the packages of python/requirements.txt: `make test` sets one up")
	}
	cmd := exec.CommandContext(t.Context(), interpreter, args...) //nolint:gosec // the tester names the interpreter
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(Root(t), "python"))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", interpreter, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// Script runs lines of Python that must succeed, and returns what they print.
func Script(t testing.TB, lines string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.py")
	fatal.If(t, os.WriteFile(file, []byte(lines), 0o600))
	out, status := Python(t, append([]string{file}, args...)...)
	if status != 0 {
		t.Fatalf("exit status %d:\n%s", status, out)
	}
	return strings.TrimSpace(out)
}

// Need skips the test where no interpreter is named, before it works.
func Need(t testing.TB) {
	t.Helper()
	Python(t, "--version")
}

// A Run is one call of the verifier.
type Run struct {
	Status int
	Out    string
}

// Verify calls the verifier once for each list of arguments, in one process:
// importing its packages takes longer than its work.
func Verify(t testing.TB, calls [][]string) []Run {
	t.Helper()
	request, err := json.Marshal(calls)
	fatal.If(t, err)
	dir := t.TempDir()
	fatal.If(t, os.WriteFile(filepath.Join(dir, "calls.json"), request, 0o600))
	Script(t, batch, dir)
	reply, err := os.ReadFile(filepath.Join(dir, "runs.json")) //nolint:gosec // written by the script
	fatal.If(t, err)
	var runs []Run
	if err := json.Unmarshal(reply, &runs); err != nil || len(runs) != len(calls) {
		t.Fatalf("%d runs for %d calls: %v", len(runs), len(calls), err)
	}
	return runs
}

// Root is the folder of this module.
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

const batch = `
import contextlib, io, json, sys
work = sys.argv[1]
from pacsgp.__main__ import main
runs = []
for call in json.load(open(work + "/calls.json")):
    sys.argv = ["pacsgp"] + call
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            status = main()
        except SystemExit as end:
            status = end.code
    runs.append({"Status": status, "Out": out.getvalue()})
json.dump(runs, open(work + "/runs.json", "w"))
`
