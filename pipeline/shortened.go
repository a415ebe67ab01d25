package pipeline

import (
	"fmt"
	"regexp"
	"unicode/utf8"
)

// Lengths to which a message cuts a quoted text, a word such as a path, and a line.
const (
	longQuoted  = 100
	longWord    = 1000
	longMessage = 4000
)

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	wordText   = regexp.MustCompile(`\S+`)
)

// Shortened cuts a line, and long texts in it.
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

// firstOf is the whole characters in the first n bytes of s.
func firstOf(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
