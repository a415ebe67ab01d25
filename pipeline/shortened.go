package pipeline

import (
	"fmt"
	"regexp"
	"unicode/utf8"
)

// What a record shows of what was wrong: the beginning of a text in quotes and of a word,
// which may be a path, and of a line of many.
const (
	longQuoted  = 100
	longWord    = 1000
	longMessage = 4000
)

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	wordText   = regexp.MustCompile(`\S+`)
)

// Shortened cuts what a line repeats of a file that was far too long.
func Shortened(line string) string {
	line = quotedText.ReplaceAllStringFunc(line, func(s string) string {
		if len(s) <= longQuoted+2 {
			return s
		}
		return firstOf(s, longQuoted+1) + `…"`
	})
	line = wordText.ReplaceAllStringFunc(line, func(s string) string {
		if len(s) <= longWord {
			return s
		}
		return firstOf(s, longQuoted) + "…"
	})
	if len(line) > longMessage {
		line = fmt.Sprintf("%s… (%d bytes more)", firstOf(line, longMessage), len(line)-longMessage)
	}
	return line
}

// firstOf is what the first n bytes of s hold of whole characters.
func firstOf(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
