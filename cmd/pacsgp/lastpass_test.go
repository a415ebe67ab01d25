package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// meanwhile runs a job during which something happens after the model file is
// written, under the hidden name that it has until there is a certificate, and
// before the last pass.
func meanwhile(t *testing.T, job string, happens func(modelFile string)) (a answer) {
	t.Helper()
	done := 0
	fsys := hooked(func(op durabletest.Operation, effect func() error) error {
		err := effect()
		if done == 0 && op.Kind == durabletest.Sync && bytes.HasPrefix(readFile(t, op.Name), []byte("PAR1")) { // the first file of Parquet
			done++
			happens(op.Name)
		}
		return err
	})
	a = pacsgpOn(t, fsys, "train", "-c", job)
	if done != 1 {
		t.Fatalf("no model file was written: %s", a.message)
	}
	return a
}

// withoutCertificate demands that a run was refused for this reason and left
// no certificate.
func withoutCertificate(t *testing.T, a answer, out string, words ...string) {
	t.Helper()
	if a.status != exitFailure || a.stdout != "" {
		t.Errorf("status %d, want %d; stdout %q", a.status, exitFailure, a.stdout)
	}
	for _, word := range words {
		if !strings.Contains(a.message, word) {
			t.Errorf("the message %q does not hold %q", a.message, word)
		}
	}
	for name := range published(t, out) {
		if strings.HasPrefix(name, "certificate-") {
			t.Errorf("%s is published", name)
		}
	}
	if _, err := os.Stat(filepath.Join(out, sinklake.RunFile)); err == nil {
		t.Error("a run record is published")
	}
}

func TestRowsChangedBeforeLastPass(t *testing.T) {
	repeats(t)
	rows := lines(90)
	for name, c := range map[string]struct {
		happens func(t *testing.T, dir string)
		words   []string
	}{
		"one target": {func(t *testing.T, dir string) {
			y := slices.Clone(rows["y"].([]float64))
			y[3] = -y[3]
			rows.with("y", y).slice(0, 45).write(t, lakeFile(dir, 0))
		}, []string{"changed since training", "digest"}},
		"a row more": {func(t *testing.T, dir string) {
			lines(91).slice(45, 91).write(t, lakeFile(dir, 1))
		}, []string{"changed since training", "digest"}},
		"files exchanged": {func(t *testing.T, dir string) {
			rows.slice(45, 90).write(t, lakeFile(dir, 0))
			rows.slice(0, 45).write(t, lakeFile(dir, 1))
		}, []string{"changed since training", "digest"}},
		"a column less": {func(t *testing.T, dir string) {
			rest := rows.slice(45, 90)
			delete(rest, "x2")
			rest.write(t, lakeFile(dir, 1))
		}, []string{"part-01.parquet", `no column "x2"`}},
		"a value lost": {func(t *testing.T, dir string) {
			part := rows.slice(45, 90)
			gaps := make([]any, 45)
			for i, v := range part["x2"].([]float64)[:44] {
				gaps[i] = v
			}
			part.with("x2", gaps).write(t, lakeFile(dir, 1))
		}, []string{"part-01.parquet", "row 44", `"x2"`, "null"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func() {
				rows.slice(0, 45).write(t, lakeFile(dir, 0))
				rows.slice(45, 90).write(t, lakeFile(dir, 1))
			}
			write()
			job := tiny(jobFile{"loss": "{epsilon: 8}"}).write(t, dir)
			out := filepath.Join(dir, "out")
			withoutCertificate(t, meanwhile(t, job, func(string) { c.happens(t, dir) }), out, c.words...)

			// The old rows again: the run goes on from where it was.
			fatal.If(t, os.RemoveAll(filepath.Join(dir, "lake")))
			write()
			if a := pacsgp(t, "train", "-c", job); a.status != 0 && a.status != exitNotCertified {
				t.Fatal(a.message)
			}
			if r := record(t, out); r.Attempt.OnTheseRows != 1 || !r.Training.Resumed {
				t.Errorf("on the old rows again: attempt %+v, resumed %v; want the first one, resumed", r.Attempt, r.Training.Resumed)
			}
		})
	}
}
