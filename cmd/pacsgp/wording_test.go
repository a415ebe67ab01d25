package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A shell takes the commands of a report from a folder with spaces as they are printed.
func TestCommandsAreForAShell(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a folder")
	smallLake(t, dir)
	said := succeed(t, "train", "-c", tiny(nil).write(t, dir)).stdout
	for before, ends := range map[string]int{"Check it     pacsgp verify ": 0, "More         pacsgp inspect ": 0} {
		_, words, _ := strings.Cut(said, before)
		words, _, _ = strings.Cut(words, "\n")
		args, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+words).Output()
		fatal.If(t, err)
		call := append([]string{strings.Fields(before)[len(strings.Fields(before))-1]}, strings.Split(strings.TrimSpace(string(args)), "\n")...)
		if got := pacsgp(t, call...); got.status != ends {
			t.Errorf("%s%s: status %d, %s", before, words, got.status, got.message)
		}
	}
}
