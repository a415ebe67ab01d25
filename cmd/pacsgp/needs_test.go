package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/cmd/program"
)

// machineOf is a system with so much memory and so much room on every disk.
func machineOf(memory, room int64) system {
	w := testSystem(discard{}, discard{}, plain())
	w.machine = program.Machine{Memory: func() int64 { return memory }, Room: func(string) (int64, bool) { return room, room >= 0 }}
	return w
}

// What takes more memory than the process may have, or more room for counting copies
// than the disk has, is refused before it starts, by every command that reads rows; the
// message says how much and what to do.
func TestNeedsAreRefusedBeforeTheStart(t *testing.T) {
	a := trained(t)
	many := t.TempDir()
	rows := lines(4200) // more than are counted in the least memory
	rows.write(t, lakeFile(many, 0))
	b := retrained(t, many, jobFile{"duplicates": "keep", "train": "{passes: 0.2}"})
	job := tiny(jobFile{"duplicates": "keep", "memory": "1KiB", "train": "{passes: 0.2}"}).write(t, many)
	out := t.TempDir()
	predictions, part := filepath.Join(out, "predictions.parquet"), filepath.Join(out, "part")
	handed := t.TempDir()
	succeed(t, "train", "-c", job, "--no-pass", "-o", handed)
	memory, disk := machineOf(8<<20, -1), machineOf(0, 16*4200-1)
	enough := machineOf(1<<30, 16*4200)
	for _, c := range []struct {
		system system
		args   []string
		says   string
	}{
		{memory, []string{"train", "-c", job, "-o", out}, "the process may have 8.0 MiB"},
		{memory, []string{"verify", a.model, a.certificate}, "the process may have 8.0 MiB"},
		{memory, []string{"verify", a.model, a.certificate, a.lake}, "the process may have 8.0 MiB"},
		{memory, []string{"predict", a.model, a.certificate, a.lake, "-o", predictions}, "the process may have 8.0 MiB"},
		{memory, []string{"pass", "-c", job, "--from", handed, "-o", part}, "the process may have 8.0 MiB"},
		{disk, []string{"pass", "-c", job, "--from", handed, "-o", part}, "up to 65.6 KiB on the disk"},
		{disk, []string{"train", "-c", job, "-o", out}, "up to 65.6 KiB on the disk"},
		{disk, []string{"verify", b.model, b.certificate, b.lake, "--memory", "1KiB"}, "up to 65.6 KiB on the disk"},
		{enough, []string{"train", "-c", job, "-o", out}, ""},
		{enough, []string{"verify", a.model, a.certificate, a.lake}, ""},
		{enough, []string{"verify", b.model, b.certificate, b.lake, "--memory", "1KiB"}, ""},
		{enough, []string{"predict", a.model, a.certificate, a.lake, "-o", predictions, "--memory", "1MiB"}, ""},
	} {
		a := called(t, c.system, c.args...)
		if c.says == "" {
			if a.status != 0 && a.status != exitNotCertified {
				t.Errorf("pacsgp %q: %s", c.args, a.message)
			}
			continue
		}
		if a.status != exitFailure || !strings.Contains(a.message, c.says) || !strings.Contains(a.message, "\nhint: ") {
			t.Errorf("pacsgp %q: status %d, %s, want status 1, %q and a hint", c.args, a.status, a.message, c.says)
		}
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
			t.Errorf("pacsgp %q leaves %v, %v", c.args, left, err)
		}
	}
}
