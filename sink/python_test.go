package sink_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// python runs a program in the interpreter that PACSGP_PYTHON names, which has
// the packages of docs/requirements.txt, and returns what it prints and its
// exit status.
func python(t testing.TB, args ...string) (output string, status int) {
	t.Helper()
	interpreter := os.Getenv("PACSGP_PYTHON")
	if interpreter == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("PACSGP_PYTHON names no Python interpreter with the packages of docs/requirements.txt")
		}
		t.Skip("PACSGP_PYTHON names no Python interpreter with the packages of docs/requirements.txt: `make test` sets one up")
	}
	cmd := exec.CommandContext(t.Context(), interpreter, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", interpreter, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// script runs lines of Python that must succeed, and returns what they print.
func script(t testing.TB, lines string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.py")
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	out, status := python(t, append([]string{file}, args...)...)
	if status != 0 {
		t.Fatalf("exit status %d:\n%s", status, out)
	}
	return strings.TrimSpace(out)
}
