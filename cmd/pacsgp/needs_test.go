package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// machineOf is a system with so much memory and so much room on every disk.
func machineOf(memory, room int64) system {
	w := testSystem(discard{}, discard{}, plain(), nil)
	w.memory = func() int64 { return memory }
	w.room = func(string) (int64, bool) { return room, room >= 0 }
	return w
}

// Pages that need more memory than the budget are refused; the message says how much.
func TestPagesThatDoNotFit(t *testing.T) {
	w := machineOf(0, -1)
	if err := (needs{reading: (pipeline.Resources{}).PageMemory()}).met(w, 64<<20, less); err != nil {
		t.Error(err)
	}
	err := needs{reading: 4080 << 20}.met(w, 64<<20, less)
	if err == nil || !strings.Contains(err.Error(), "takes 4081 MiB") || !strings.Contains(err.Error(), "raise memory to 4081 MiB") || strings.Contains(err.Error(), "%!") {
		t.Errorf("4080 MiB of 64: %v", err)
	}
	if err := (needs{reading: 4080 << 20}).met(w, 5<<30, less); err != nil {
		t.Error(err)
	}
}

// What takes more memory than the process may have, or more room for counting copies
// than the disk has, is refused before it starts, by every command that reads rows; the
// message says how much and what to do.
func TestNeedsAreRefusedBeforeTheStart(t *testing.T) {
	a := trained(t)
	many := t.TempDir()
	rows := lines(4200) // more than are counted in the least memory
	rows.write(t, lakeFile(many, 0))
	b := retrained(t, many, jobFile{"copies": "independent", "train": "{passes: 0.2}"})
	job := tiny(jobFile{"copies": "independent", "memory": "1KiB", "train": "{passes: 0.2}"}).write(t, many)
	out := t.TempDir()
	predictions := filepath.Join(out, "predictions.parquet")
	memory, disk := machineOf(8<<20, -1), machineOf(0, 16*4200-1)
	enough := machineOf(1<<30, 16*4200)
	for _, c := range []struct {
		system system
		args   []string
		says   string
	}{
		{memory, []string{"train", "-c", job, "-o", out}, "the process may have 8.0 MiB"},
		{memory, []string{"plan", "-c", job}, "the process may have 8.0 MiB"},
		{memory, []string{"verify", a.model, a.certificate}, "the process may have 8.0 MiB"},
		{memory, []string{"verify", a.model, a.certificate, a.lake}, "the process may have 8.0 MiB"},
		{memory, []string{"predict", a.model, a.certificate, a.lake, "-o", predictions}, "the process may have 8.0 MiB"},
		{disk, []string{"train", "-c", job, "-o", out}, "up to 65.6 KiB on the disk"},
		{disk, []string{"plan", "-c", job}, "up to 65.6 KiB on the disk"},
		{disk, []string{"verify", b.model, b.certificate, b.lake, "--memory", "1KiB"}, "up to 65.6 KiB on the disk"},
		{enough, []string{"train", "-c", job, "-o", out}, ""},
		{enough, []string{"plan", "-c", job}, ""},
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
		if c.args[0] == "plan" && !strings.Contains(a.stdout, "disk       at most 65.6 KiB in ") {
			t.Errorf("plan says %s", a.stdout)
		}
	}
}

// The records of all rows stand on the disk where they do not fit into memory, those of
// two billion rows of an honest file of 280 bytes too.
func TestSpillBytes(t *testing.T) {
	dropped := pipeline.Job{Copies: pipeline.CopiesDecl{Policy: pipeline.CopiesDropped}}
	for _, c := range []struct {
		job    pipeline.Job
		rows   int64
		memory int64
		want   int64
	}{
		{pipeline.Job{}, 1 << 20, 16 << 20, 0},
		{pipeline.Job{}, 1<<20 + 1, 16 << 20, 16<<20 + 16},
		{dropped, 1 << 20, 16 << 20, 24 << 20},
		{pipeline.Job{}, 2_000_000_000, 0, 32_000_000_000},
	} {
		if got := pipeline.SpillBytes(c.job, c.rows, pipeline.Resources{Memory: c.memory}); got != c.want {
			t.Errorf("SpillBytes(%d rows, %d bytes) = %d, want %d", c.rows, c.memory, got, c.want)
		}
	}
}
