package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns words as one harmless line for a terminal: characters that could move the cursor,
// change the colour, hide text or reverse the reading order become escapes of JSON, such as
// \u001b. Names of columns and files, keys and certificates may come from anybody.
func Escape(words string) string { return escape(words, "") }

// Shell returns a word of a command as a shell takes it: in quotes where it needs them.
func Shell(word string) string {
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Shells joins words of a command, or parts of one, as a shell takes them.
func Shells(parts []string, between string) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = Shell(part)
	}
	return strings.Join(words, between)
}

// special reports whether a character may mean something else to a shell. Those of globs are none: the
// program takes them too.
func special(r rune) bool {
	return r <= ' ' || strings.ContainsRune("\"'`\\$&|;<>(){}!#~", r)
}

// escape is Escape, except for the characters of keep.
func escape(words, keep string) string {
	if strings.IndexFunc(words, hidden) < 0 && utf8.ValidString(words) {
		return words
	}
	var b strings.Builder
	for len(words) > 0 {
		r, size := utf8.DecodeRuneInString(words)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, words[0])
		case !hidden(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r > 0xFFFF: // a surrogate pair, as in JSON
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		words = words[size:]
	}
	return b.String()
}

// hidden reports whether a character is invisible: a control or format character (such as those for
// the reading order), or a separator of lines or paragraphs.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// An Escaper writes text like [Escape], but keeps line breaks and tabs. A program sends all output for
// people through one, so that no name is forgotten. It is for one goroutine at a time.
type Escaper struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end has not come yet
	err  error  // the first error
}

// NewEscaper returns an Escaper that writes to w.
func NewEscaper(w io.Writer) *Escaper { return &Escaper{w: w} }

// Write escapes and writes text. After an error it only returns the error.
func (e *Escaper) Write(b []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	text := append(e.rest, b...)
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
			break
		}
	}
	e.rest = append([]byte(nil), text[whole:]...)
	return len(b), e.pass(string(text[:whole]))
}

func (e *Escaper) pass(text string) error {
	if text != "" && e.err == nil {
		_, e.err = e.w.Write([]byte(escape(text, "\n\t"))) // in one call, so that lines of a log stay whole
	}
	return e.err
}

// Flush writes the beginning of an unfinished character, and returns the first error of all writes.
func (e *Escaper) Flush() error {
	rest := string(e.rest)
	e.rest = nil
	return e.pass(rest)
}
