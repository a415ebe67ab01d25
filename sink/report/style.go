package report

import (
	"io"
	"strings"
	"unicode/utf8"
)

// A Style is the style of text for people. Its zero value is plain text of 80 columns.
type Style struct {
	// Width is the number of columns, from 40 to 80. Zero means 80.
	Width int
	// Colour colours the lines with ANSI escapes.
	Colour bool
}

func (s Style) width() int {
	if s.Width == 0 {
		return 80
	}
	return max(40, min(80, s.Width))
}

// ANSI colours.
const (
	bold   = "1"
	red    = "1;31"
	yellow = "1;33"
	leaf   = "1;32"
	dim    = "2"
)

func (s Style) paint(code, words string) string {
	if !s.Colour {
		return words
	}
	return "\x1b[" + code + "m" + words + "\x1b[0m"
}

// wrap breaks words into lines of at most width columns. The first line starts with head, the
// others with as many spaces. A word longer than a line gets its own line.
func wrap(head, words string, width int) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	var b strings.Builder
	b.WriteString(head)
	column := len(indent)
	for i, word := range together(strings.Fields(words)) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}

// together joins each percent sign to the number before it.
func together(words []string) []string {
	var all []string
	for _, word := range words {
		if last := len(all) - 1; last >= 0 && strings.HasPrefix(word, "%") {
			all[last] += " " + word
			continue
		}
		all = append(all, word)
	}
	return all
}

// WriteWrapped prints words in lines of the style's width. It ignores errors of w, which the caller must detect.
func WriteWrapped(w io.Writer, head, words string, style Style) {
	for line := range strings.Lines(words) {
		_, _ = io.WriteString(w, wrap(head, Escape(strings.TrimSuffix(line, "\n")), style.width())+"\n")
	}
}
