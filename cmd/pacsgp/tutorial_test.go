package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

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
	if !strings.Contains(pacsgp(t, "version").stdout, "avx2") {
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
