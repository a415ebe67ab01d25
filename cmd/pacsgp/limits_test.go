package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// numbered joins n copies of a format, each with its number.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Limits of job files.
const (
	mostJobBytes = 1 << 20
	mostJobKeys  = 4000
	mostJobParts = 1 << 16
)

// The worst job files within the limits are read, or refused, in a time in which
// nobody thinks that the command hangs. The bound leaves room for a slow machine.
func TestWorstJobFilesAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"keys":              numbered(mostJobKeys, "c%d: 1\n"),
		"too many keys":     numbered(16_000, "c%d: 1\n"),
		"declared scaling":  "scaling:\n  features:\n" + numbered(mostJobKeys/3-1, "    c%d: {centre: 1, scale: 1}\n"),
		"more of it":        "scaling:\n  features:\n" + numbered(16_000, "    c%d: {centre: 1, scale: 1}\n"),
		"brackets":          strings.Repeat("[", mostJobBytes),
		"directives":        strings.Repeat("%", mostJobBytes),
		"comments":          strings.Repeat("#\n", mostJobBytes/2),
		"a long comment":    "#" + strings.Repeat("a", mostJobBytes-2),
		"lines":             strings.Repeat("\n", mostJobBytes),
		"blanks":            strings.Repeat(" ", mostJobBytes),
		"tabs":              strings.Repeat("\t", mostJobBytes),
		"quotes":            strings.Repeat("'", mostJobBytes),
		"a word":            strings.Repeat("a", mostJobBytes),
		"words":             strings.Repeat("a ", mostJobBytes/2),
		"dashes":            strings.Repeat("- ", mostJobBytes/2),
		"a list":            "features: [" + strings.Repeat("a,", mostJobParts-100) + "]",
		"a list of lines":   "features:\n" + strings.Repeat("- a\n", mostJobParts/2-100),
		"a block":           "target: |\n" + strings.Repeat("  a\n", mostJobParts-100),
		"a text of lines":   "target: a\n" + strings.Repeat("  a\n", mostJobParts-100),
		"a quoted text":     `target: "` + strings.Repeat("\\\\", mostJobParts/2-100) + `"`,
		"a text of letters": `target: "` + strings.Repeat("é", mostJobBytes/2-100) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "job.yaml")
			writeFile(t, path, []byte(text))
			began := time.Now()
			a := pacsgp(t, "plan", "-c", path)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			} else {
				t.Log(took)
			}
			if a.status != exitConfig || len(a.message) > 20_000 {
				t.Errorf("status %d, %d bytes of message: %.300s", a.status, len(a.message), a.message)
			}
		})
	}
}

// Many faults, and long texts in them, are told in a message that can be read.
func TestErrorsAreInProportion(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	long := strings.Repeat("k", 900_000)
	for name, c := range map[string]struct {
		change jobFile
		words  string
	}{
		"unknown features": {jobFile{"features": "[" + numbered(20_000, "c%d,") + "]"}, "and 19980 more faults"},
		"unknown excludes": {jobFile{"exclude": "[" + numbered(20_000, "c%d,") + "]"}, "and 19980 more faults"},
		"features twice":   {jobFile{"features": "[" + strings.Repeat("x1,", 20_000) + "]"}, "and 19979 more faults"},
		"remote paths":     {jobFile{"source": "{paths: [" + numbered(9_000, `"s3://a/%d",`) + "]}"}, "and 8980 more faults"},
		"a long key":       {jobFile{long: "1"}, "kkk…"},
		"a long target":    {jobFile{"target": long}, "kkk…"},
		"a long loss":      {jobFile{"loss": "{epsilon: 1, kind: " + long + "}"}, "kkk…"},
		"a long size":      {jobFile{"memory": long}, "kkk…"},
		"a long path":      {jobFile{"source": "{paths: [" + long + "]}"}, "kkk…"},
		"a long variable":  {jobFile{"delta": "${" + long + "}"}, "kkk…"},
		"a long output":    {jobFile{"output": long}, "kkk…"},
	} {
		t.Run(name, func(t *testing.T) {
			job := tiny(c.change).write(t, dir)
			began := time.Now()
			a := pacsgp(t, "train", "-c", job)
			took := time.Since(began)
			if took > 2*time.Minute { // a hundred times what it takes, for machines at work and the race detector
				t.Errorf("took %v", took)
			}
			if a.status == 0 || len(a.message) > 20_000 || !strings.Contains(a.message, c.words) {
				t.Errorf("status %d, %d bytes of message: %.600s", a.status, len(a.message), a.message)
			}
		})
	}
}
