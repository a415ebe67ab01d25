package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns words as one harmless line for a terminal. Names of columns and files, keys and
// certificates may come from anybody: characters that could move the cursor, change the colour,
// hide text or reverse the reading order become JSON escapes such as \u001b.
func Escape(words string) string { return escape(words, "") }

// Shell quotes a word for a shell if it needs quotes. Characters of globs need none, since the program expands them too.
func Shell(word string) string {
	special := func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`\\$&|;<>(){}!#~", r) }
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Shells quotes each part with [Shell] and joins the results with between.
func Shells(parts []string, between string) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = Shell(part)
	}
	return strings.Join(words, between)
}

// escape is [Escape], but leaves the characters in keep as they are.
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

// hidden reports whether a character is invisible: a control or format character, such as those
// that change the reading order, or a separator of lines or paragraphs.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// An Escaper writes text like [Escape], but keeps line breaks and tabs. The program sends all text
// for people through one, so that no name stays unescaped. It is for one goroutine at a time.
type Escaper struct {
	w    io.Writer
	rest []byte // the first bytes of an incomplete character
	err  error  // the first error
}

// NewEscaper returns an Escaper that writes to w.
func NewEscaper(w io.Writer) *Escaper { return &Escaper{w: w} }

// Write escapes and writes text. After the first error it only returns that error.
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
		_, e.err = e.w.Write([]byte(escape(text, "\n\t"))) // in one call, so that log lines stay whole
	}
	return e.err
}

// Flush writes the bytes of an incomplete character, and returns the first error of all writes.
func (e *Escaper) Flush() error {
	rest := string(e.rest)
	e.rest = nil
	return e.pass(rest)
}
