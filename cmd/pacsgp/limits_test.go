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

// mostJobBytes is the limit of a job file.
const mostJobBytes = 1 << 16

// The worst job files within the limit are read, or refused, in a time in which
// the command does not seem to hang. The bound leaves room for a slow machine.
func TestWorstJobFilesAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"keys":              numbered(7000, "c%d: 1\n"),
		"filled columns":    "fill:\n" + numbered(2000, "  c%d: 1\n"),
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
		"a list":            "features: [" + strings.Repeat("a,", mostJobBytes/2-100) + "]",
		"a list of lines":   "features:\n" + strings.Repeat("- a\n", mostJobBytes/4-100),
		"a block":           "target: |\n" + strings.Repeat("  a\n", mostJobBytes/4-100),
		"a text of lines":   "target: a\n" + strings.Repeat("  a\n", mostJobBytes/4-100),
		"a quoted text":     `target: "` + strings.Repeat("\\\\", mostJobBytes/2-100) + `"`,
		"a text of accents": `target: "` + strings.Repeat("é", mostJobBytes/2-100) + `"`,
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
