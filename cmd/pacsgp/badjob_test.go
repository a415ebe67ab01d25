package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// refused demands that a job ended with the status and a message that holds all
// these words, that it said nothing on stdout, and that its output directory
// has nothing that could be taken for a result.
func refused(t *testing.T, a answer, out string, status int, words ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.message)
	}
	for _, word := range words {
		if !strings.Contains(a.message, word) {
			t.Errorf("the message %q does not hold %q", a.message, word)
		}
	}
	if a.stdout != "" {
		t.Errorf("stdout has %q, want nothing", a.stdout)
	}
	for _, name := range names(t, out) {
		if name == "attempts.jsonl" && len(readFile(t, filepath.Join(out, name))) == 0 {
			continue // opened, and nothing could be written
		}
		if name != ".lock" && !strings.HasPrefix(name, "run-") { // what has run is recorded
			t.Errorf("the output directory holds %s", name)
		}
	}
	if _, err := os.Stat(out); status == exitConfig && err == nil {
		t.Error("a bad configuration made the output directory")
	}
}

// What is wrong with a job is said before anything is read or made, and as lint says it.
func TestBadConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		change jobFile
		words  []string
	}{
		"unknown key":           {jobFile{"targt": "y"}, []string{"job.yaml", ":7:1: ", "targt", "docs/job.md"}},
		"deep brackets":         {jobFile{"features": strings.Repeat("[", 60_000)}, []string{"nested deeper than 32"}},
		"deep braces":           {jobFile{"features": strings.Repeat("{a: ", 20_000)}, []string{"nested deeper than 32"}},
		"deep dashes":           {jobFile{"features": strings.Repeat("- ", 60_000)}, []string{"nested deeper than 32"}},
		"many keys":             {jobFile{"scaling": "{features: {" + strings.Repeat("a: 1, ", 10_000) + "}}"}, []string{"more than 4000 keys"}},
		"many parts":            {jobFile{"features": "[" + strings.Repeat("a,", 200_000) + "]"}, []string{"more parts"}},
		"twenty thousand paths": {jobFile{"source": "{paths: [" + strings.Repeat("p,", 20_000) + "]}"}, []string{"source.paths", "at most 10000"}},
		"a NUL byte":            {jobFile{"judge": "me\x00an"}, []string{":3:10: ", "NUL byte"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lines(40).write(t, lakeFile(dir, 0))
			job := tiny(c.change).write(t, dir)
			a := pacsgp(t, "train", "-c", job)
			refused(t, a, filepath.Join(dir, "out"), exitConfig, c.words...)
			lintedLike(t, job, a)
		})
	}
	t.Run("all faults together", func(t *testing.T) {
		dir := t.TempDir()
		job := tiny(jobFile{"delta": "2", "loss": "{kind: hinge}", "output": "", "limit": "3"}).write(t, dir)
		a := pacsgp(t, "train", "-c", job)
		refused(t, a, filepath.Join(dir, "out"), exitConfig, "delta", "hinge", "output", "limit")
		if n := strings.Count(a.message, "pacsgp: "); n != 4 {
			t.Errorf("%d lines, want one for each of 4 faults: %s", n, a.message)
		}
	})
	t.Run("too long", func(t *testing.T) {
		dir := t.TempDir()
		job := tiny(jobFile{"unit": strings.Repeat("x", 1<<20)}).write(t, dir)
		refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitConfig, job, "longer than a job")
	})
	t.Run("no job file", func(t *testing.T) {
		dir := t.TempDir()
		refused(t, pacsgp(t, "train", "-c", filepath.Join(dir, "none.yaml")), filepath.Join(dir, "out"), exitConfig, "none.yaml")
	})
}

// A line that begins another document, as editors and templates leave it, is no
// document yet.
func TestJobMayEndInDashes(t *testing.T) {
	for _, text := range []string{"\ufeff%s", "%s---\n", "%s---", "---\n%s", "---\n%s---\n# nothing\n---\n", "%s...\n"} {
		dir := t.TempDir()
		smallLake(t, dir)
		job := tiny(nil).write(t, dir)
		plain, err := os.ReadFile(job)
		fatal.If(t, err)
		fatal.If(t, os.WriteFile(job, fmt.Appendf(nil, text, plain), 0o600))
		if a := pacsgp(t, "plan", "-c", job); a.status != 0 {
			t.Errorf("%q: status %d: %s", text, a.status, a.message)
		}
	}
	dir := t.TempDir()
	job := filepath.Join(dir, "job.yaml")
	for _, text := range []string{"", "---", "---\n---\n", "# nothing\n"} {
		fatal.If(t, os.WriteFile(job, []byte(text), 0o600))
		refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitConfig, "is empty")
	}
}

func TestEnvironmentInJob(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"output": "${PLACE}/out # ${NOT} used\n# ${NEITHER}"}).write(t, dir)
	a := pacsgpOn(t, plain(), map[string]string{"PLACE": "there", "NOT": ""}, "train", "-c", job)
	if a.status != 0 || len(published(t, filepath.Join(dir, "there", "out"))) != 4 {
		t.Errorf("status %d: %s", a.status, a.message)
	}
	secret := tiny(jobFile{"delta": "${SECRET}"}).write(t, dir)
	a = pacsgpOn(t, plain(), map[string]string{"SECRET": "hunter2"}, "train", "-c", secret)
	if a.status != exitConfig || strings.Contains(a.message, "hunter2") {
		t.Errorf("status %d, want %d and no value of a variable in the message: %s", a.status, exitConfig, a.message)
	}
}

func TestBadRows(t *testing.T) {
	full := make([]any, 40)
	for i := range full {
		full[i] = float64(i)
	}
	full[23] = nil
	constant := make([]float64, 40)
	text := make([]string, 40)
	truncated := lines(40).bytes(t)
	for name, c := range map[string]struct {
		rows   table
		change jobFile
		words  []string
	}{
		"only text features":     {table{"x1": text, "y": lines(40)["y"]}, nil, []string{"no feature is left", "declare the features"}},
		"no row":                 {lines(0), nil, []string{"0 rows", "want 2"}},
		"one row":                {lines(1), nil, []string{"1 row", "want 2"}},
		"five rows":              {lines(5), nil, []string{"5 rows", "give 20 rows or more, or declare the scaling"}},
		"constant target":        {lines(40).with("y", constant), nil, []string{`target "y"`, "one value", "nothing to learn"}},
		"constant feature":       {lines(40).with("x2", constant), jobFile{"features": "[x1, x2]"}, []string{`"x2"`, "one value", "leave it out"}},
		"only constant features": {table{"x1": constant, "y": lines(40)["y"]}, nil, []string{"no feature is left"}},
		"null in a feature":      {lines(40).with("x2", full), nil, []string{"part-00.parquet", "row 23", `"x2"`, "null", "leave the column out"}},
		"null in the target":     {lines(40).with("y", full), nil, []string{"part-00.parquet", "row 23", `"y"`, "null"}},
		"no file":                {nil, jobFile{"source": "{paths: [empty]}"}, []string{"empty", "no data file", "*.parquet"}},
		"no match":               {nil, jobFile{"source": "{paths: ['lake/*.csv']}"}, []string{"*.csv", "no data file"}},
		"no directory":           {nil, jobFile{"source": "{paths: [nowhere]}"}, []string{"nowhere", "does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "empty", "_SUCCESS"), nil)
			if c.rows != nil {
				c.rows.write(t, lakeFile(dir, 0))
			}
			job := tiny(c.change).write(t, dir)
			refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitFailure, c.words...)
		})
	}
	for _, length := range []int{0, 3, 4, 11, len(truncated) / 2, len(truncated) - 1} {
		t.Run("truncated file", func(t *testing.T) {
			dir := t.TempDir()
			lines(40).write(t, lakeFile(dir, 0))
			writeFile(t, lakeFile(dir, 1), truncated[:length])
			job := tiny(nil).write(t, dir)
			refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitFailure, "part-01.parquet")
		})
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)

	writeFile(t, filepath.Join(dir, "file"), []byte("keep me"))
	for _, out := range []string{"file", "file/out"} {
		a := pacsgp(t, "train", "-c", job, "-o", filepath.Join(dir, out))
		if a.status != exitFailure || a.stdout != "" || !strings.Contains(a.message, "file") {
			t.Errorf("-o %s: status %d, stdout %q, message %q", out, a.status, a.stdout, a.message)
		}
		if string(readFile(t, filepath.Join(dir, "file"))) != "keep me" {
			t.Errorf("-o %s: the file in the way has changed", out)
		}
	}

	denied := hooked(func(op durabletest.Operation, _ func() error) error {
		return &os.PathError{Op: op.Kind, Path: op.Name, Err: syscall.EACCES}
	})
	out := filepath.Join(dir, "denied")
	refused(t, pacsgpOn(t, denied, nil, "train", "-c", job, "-o", out), out, exitFailure, "permission denied", "hint: choose an output directory")

	readOnly := filepath.Join(dir, "read-only")
	fatal.If(t, os.Mkdir(readOnly, 0o555))
	if os.Geteuid() == 0 {
		t.Log("root may write to a read-only directory: that part is left out")
		return
	}
	for _, out := range []string{readOnly, filepath.Join(readOnly, "out")} {
		refused(t, pacsgp(t, "train", "-c", job, "-o", out), out, exitFailure, "permission denied", "hint: choose an output directory")
	}
}

// An output directory that the source would find the model in is refused before
// anything is written: the last pass and every later job would read it as rows.
func TestOutputInsideSource(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	fatal.If(t, os.Symlink("lake", filepath.Join(dir, "link")))
	before := names(t, filepath.Join(dir, "lake"))
	for _, c := range []struct{ paths, output, words string }{
		{"lake/", "lake/out", "job.yaml:4:9: output: " + filepath.Join(dir, "lake", "out") + " is inside the source " + filepath.Join(dir, "lake") + ", whose subdirectories are read"},
		{"lake", "lake/", "a name that begins with _ or ."},
		{"lake", "link/a/b", "is inside the source"},
		{"link", "lake/out", "is inside the source"},
		{".", "out", "is inside the source"},
		{"lake/*.parquet", "lake", "would find the model in"},
		{"lake/*", "lake/out", "would find the model in"},
	} {
		job := tiny(jobFile{"source": "{paths: ['" + c.paths + "']}", "output": c.output}).write(t, dir)
		for _, command := range []string{"plan", "train"} {
			pacsgp(t, command, "-c", job).says(t, exitConfig, c.words)
		}
		if after := names(t, filepath.Join(dir, "lake")); len(after) != len(before) {
			t.Errorf("output %s: the lake holds %q", c.output, after)
		}
	}
	job := tiny(nil).write(t, dir)
	flag := pacsgp(t, "train", "-c", job, "-o", filepath.Join(dir, "lake", "out"))
	flag.says(t, exitConfig, "--output: ", "is inside the source")
	for _, output := range []string{"lake/_out", "lake/.runs/1", "lake-2"} {
		succeed(t, "plan", "-c", tiny(jobFile{"output": output}).write(t, dir))
	}
	succeed(t, "train", "-c", tiny(jobFile{"output": "lake/_out"}).write(t, dir))
	succeed(t, "plan", "-c", job)
}

func TestOutputInUse(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	other, err := lake.Open(out, nil)
	fatal.If(t, err)
	job := tiny(nil).write(t, dir)
	refused(t, pacsgp(t, "train", "-c", job), out, exitFailure, "in use", "hint: wait for the other process")
	fatal.If(t, other.Close())
	succeed(t, "train", "-c", job)
}

// A full disk or a failing one stops each command that writes at each operation in
// turn. What stands under a published name is whole, no model is seen without a
// certificate, nothing unfinished is left, and once the disk works again the same
// command gives the same bytes.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	repeats(t)
	all := writers(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			for k, c := range []struct {
				kind    string
				failure error
			}{
				{durabletest.Write, syscall.ENOSPC},
				{durabletest.Sync, syscall.ENOSPC},
				{durabletest.Create, syscall.ENOSPC},
				{durabletest.Append, syscall.EDQUOT},
				{durabletest.Rename, syscall.EIO},
				{durabletest.SyncDir, syscall.EIO},
				{durabletest.Remove, syscall.EIO},
			} {
				stride := all[name].stride
				if testing.Short() {
					if stride *= 25; (i+k)%3 > 0 { // a third of the pairs
						continue
					}
				}
				failed := true
				for at := 1; failed; at += stride {
					failed = all[name].fails(t, c.kind, c.failure, at)
				}
			}
		})
	}
}

// fails runs a command whose operation at and all later ones of that kind fail, and
// then again. It reports whether there were as many.
func (c writer) fails(t *testing.T, kind string, failure error, at int) bool {
	t.Helper()
	out, done, failed := t.TempDir(), 0, false
	broken := hooked(func(op durabletest.Operation, effect func() error) error {
		if op.Kind != kind {
			return effect()
		}
		if done++; done < at {
			return effect()
		}
		failed = true
		if op.Half != nil {
			op.Half()
		}
		return &os.PathError{Op: kind, Path: op.Name, Err: failure}
	})
	a := pacsgpOn(t, broken, nil, c.args(out)...)
	if !failed {
		return false
	}
	when := fmt.Sprintf("%s %d: %v", kind, at, failure)
	told := strings.Contains(a.message, failure.Error()) && (errors.Is(failure, syscall.EIO) || strings.Contains(a.message, "hint: no space"))
	if a.status != exitFailure || a.stdout != "" && !c.talks || strings.Contains(a.stdout, "CERTIFIED") || !told {
		if kind != durabletest.Remove || a.status != 0 { // what need not be removed may stay
			t.Errorf("%s: status %d, stdout %q, message %q: want what failed and nothing else", when, a.status, a.stdout, a.message)
		}
	}
	whole(t, when, c.in(out), c.want)
	models, documents := 0, 0
	for _, name := range names(t, c.in(out)) {
		switch {
		case strings.HasSuffix(name, durable.TempSuffix) && kind != durabletest.Remove:
			t.Errorf("%s: %s is left over", when, name)
		case strings.HasPrefix(name, "model-"):
			models++
		case strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "certificate-"):
			documents++
		}
	}
	if models > documents {
		t.Errorf("%s: %d models are seen and %d certificates", when, models, documents)
	}
	succeed(t, c.args(out)...)
	c.complete(t, "after "+when, out)
	return true
}

// Temporary files that cannot be removed either are removed by the next run.
func TestFullDiskThatKeepsLeftovers(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	broken := hooked(func(op durabletest.Operation, effect func() error) error {
		switch op.Kind {
		case durabletest.Sync, durabletest.Remove:
			return &os.PathError{Op: op.Kind, Path: op.Name, Err: errors.New("input/output error")}
		}
		return effect()
	})
	a := pacsgpOn(t, broken, nil, "train", "-c", job)
	if a.status != exitFailure || !strings.Contains(a.message, "input/output error") {
		t.Errorf("status %d, message %q", a.status, a.message)
	}
	succeed(t, "train", "-c", job)
	out := filepath.Join(dir, "out")
	complete(t, "after a broken disk", out, published(t, out))
}
