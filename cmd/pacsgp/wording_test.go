package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A fault of the choice of columns is a fault of the job, with line and column, in
// plan and in train.
func TestChoiceOfColumnsIsTheJob(t *testing.T) {
	text := make([]string, 40)
	for name, c := range map[string]struct {
		change jobFile
		words  []string
	}{
		"features with exclude": {jobFile{"features": "[x1]", "exclude": "[x2]"}, []string{":2:10: ", "nothing to exclude from"}},
		"unknown exclude":       {jobFile{"exclude": "[x2, weather]"}, []string{":2:15: ", `exclude names column "weather"`}},
		"misspelt exclude":      {jobFile{"exclude": "[X2]"}, []string{":2:11: ", `did you mean "x2"?`}},
		"empty features":        {jobFile{"features": "[]"}, []string{":2:11: ", "features: the list is empty"}},
		"wrong target":          {jobFile{"target": "dely"}, []string{":6:9: ", `no column "dely"`}},
		"misspelt target":       {jobFile{"target": "Y"}, []string{":6:9: ", `did you mean "y"?`}},
		"text for a target":     {jobFile{"target": "word"}, []string{":6:9: ", "text"}},
		"unknown feature":       {jobFile{"features": "[x1, xx2]"}, []string{":2:16: ", `no column "xx2"`, `did you mean "x2"?`}},
		"feature twice":         {jobFile{"features": "[x1, x1]"}, []string{":2:16: ", "declared twice"}},
		"target as a feature":   {jobFile{"features": "[x1, y]"}, []string{"is the target"}},
		"exclude all":           {jobFile{"exclude": "[x1, x2]"}, []string{":2:10: ", "exclude: no feature is left"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lines(40).with("word", text).write(t, lakeFile(dir, 0))
			job := tiny(c.change).write(t, dir)
			refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitConfig, append(c.words, "job.yaml:")...)
			refused(t, pacsgp(t, "plan", "-c", job), filepath.Join(dir, "out"), exitConfig, c.words...)
		})
	}
}

// What a library says of Go's types or of its own steps is no message.
var jargon = regexp.MustCompile(`Go (value|struct)|unmarshal|was used where|is expected|uint64|int64|strconv|lake: .*lake: |stat s3`)

func TestMessagesNeedNoGo(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := func(change jobFile) string { return tiny(change).write(t, t.TempDir()) }
	a := trained(t)
	edited := func(from, to string) string {
		text := string(readFile(t, a.certificate))
		if !strings.Contains(text, from) {
			t.Fatalf("%q is not in the certificate", from)
		}
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, []byte(strings.Replace(text, from, to, 1)))
		return path
	}
	inUse := job(nil)
	for name, c := range map[string]struct {
		args   []string
		status int
		words  string
	}{
		"flag without unit":   {[]string{"train", "-c", inUse, "--memory", "512"}, exitUsage, "write 512MiB"},
		"store as data":       {[]string{"verify", a.model, a.certificate, "s3://me:secret@rows/lake"}, exitUsage, "an address with a user, a query"},
		"store to predict":    {[]string{"predict", a.model, a.certificate, "hdfs://b/lake", "-o", filepath.Join(dir, "p.parquet")}, exitUsage, "hdfs://b/lake: only s3://"},
		"store for results":   {[]string{"predict", a.model, a.certificate, a.lake, "-o", "s3://rows/p.parquet"}, exitUsage, "want a path of this machine"},
		"text for a count":    {[]string{"inspect", edited(`"rows": 180`, `"rows": "x"`)}, exitFailure, "want a whole number"},
		"fraction of a count": {[]string{"verify", a.model, edited(`"rows": 180`, `"rows": 1.5`)}, exitFailure, "want a whole number"},
		"list for a number":   {[]string{"inspect", edited(`"tau": `, `"tau": [1], "was": `)}, exitFailure, "want a number"},
		"no place to write":   {[]string{"train", "-c", tiny(nil).write(t, dir), "-o", "/proc/none/x"}, exitFailure, "none"},
	} {
		got := pacsgp(t, c.args...)
		if got.status != c.status || !strings.Contains(got.message, c.words) {
			t.Errorf("%s: status %d, want %d, and %q in %q", name, got.status, c.status, c.words, got.message)
		}
		if found := jargon.FindString(got.message); found != "" {
			t.Errorf("%s: %q in %q", name, found, got.message)
		}
	}
}

// A fault of the command line itself is written in the format that it asks for,
// wherever it asks.
func TestFormatOfUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"train", "--no-such", "--log-format", "text"},
		{"trian", "--log-format=text"},
		{"train", "--log-format", "text", "--delta", "x"},
	} {
		var out, log bytes.Buffer
		w := testSystem(&out, &log, plain(), nil)
		err := run(t.Context(), args, w)
		if status(err) != exitUsage || w.log.asJSON(false) {
			t.Errorf("%q: status %d, JSON %v: %v", args, status(err), w.log.asJSON(false), err)
		}
	}
	pacsgp(t, "train", "--epsilom", "3").says(t, exitUsage, "did you mean --epsilon?")
}

// An error that repeats an argument is one line, and speaks of no system call.
func TestArgumentsInErrors(t *testing.T) {
	for _, args := range [][]string{{"inspect", "no\nfile"}, {"train", "--no\nflag"}, {"train", "-c", "x/../no\nfile"}, {"no\ncommand"}} {
		a := pacsgp(t, args...)
		if want := 1 + strings.Count(a.message, "hint: "); a.status == 0 || strings.Count(a.message, "\n") != want {
			t.Errorf("%q: %q", args, a.message)
		}
	}
	a := pacsgp(t, "inspect", "nofile")
	if want := "pacsgp: nofile: no such file or directory\n"; a.message != want {
		t.Errorf("%q, want %q", a.message, want)
	}
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Skip(err)
	}
	if a := pacsgp(t, "inspect", loop); a.message != "pacsgp: "+loop+": a symbolic link that leads to itself\n" {
		t.Errorf("%q", a.message)
	}
	fatal.If(t, os.Remove(loop))
	smallLake(t, dir)
	out := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "none"), out); err != nil {
		t.Skip(err)
	}
	pacsgp(t, "train", "-c", tiny(nil).write(t, dir), "-o", out).says(t, exitFailure, "is a link to a folder that does not exist")
}

// A folder that does not exist is no model, whose certificate would be the data.
func TestNoSuchFolder(t *testing.T) {
	a := trained(t)
	none := filepath.Join(a.dir, "nosuch")
	for _, args := range [][]string{{"predict", none, a.lake, "-o", none + ".parquet"}, {"verify", none, a.lake}} {
		pacsgp(t, args...).says(t, exitFailure, none, "no such file or directory")
	}
}

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
