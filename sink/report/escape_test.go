package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// What a terminal could obey is not passed on, wherever writes are cut.
func TestEscaper(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ε ≤ 1\n\tmore": "plain, ε ≤ 1\n\tmore",
		"\x1b[2J\a\r\x00\x7f":  `\u001b[2J\u0007\u000d\u0000\u007f`,
		"a\u202eb\u2066c":      `a\u202eb\u2066c`,
		"a\u2028b\u0085":       `a\u2028b\u0085`,
		"\U000E0041":           `\udb40\udc41`,
		"\x9b1m\xff":           `\x9b1m\xff`,
		"\xe2\x82":             `\xe2\x82`,
		"😀":                    "😀",
	} {
		for cut := range len(in) + 1 {
			var b bytes.Buffer
			e := NewEscaper(&b)
			for _, part := range []string{in[:cut], in[cut:]} {
				if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("Write(%q) = %d, %v", part, n, err)
				}
			}
			if err := e.Flush(); err != nil || b.String() != want {
				t.Errorf("%q, cut at %d: %q, %v, want %q", in, cut, b.String(), err, want)
			}
		}
	}
	if got, want := Escape("a\nb"), `a\u000ab`; got != want {
		t.Errorf("Escape = %q, want %q", got, want)
	}
	failing := NewEscaper(fullDisk{})
	_, first := failing.Write([]byte("x"))
	if err := failing.Flush(); first == nil || !errors.Is(err, first) {
		t.Errorf("a failure is lost: %v, %v", first, err)
	}
}

// JSON with escapes says the same.
func FuzzEscapeKeepsJSON(f *testing.F) {
	f.Add("a\x1b\u202e\U000E0041\u2028\x7f")
	f.Fuzz(func(t *testing.T, s string) {
		doc, err := json.Marshal(s)
		fatal.If(t, err)
		var want, got string
		escaped := Escape(string(doc))
		if err := errors.Join(json.Unmarshal(doc, &want), json.Unmarshal([]byte(escaped), &got)); err != nil || got != want {
			t.Errorf("%q was %q, %v", got, want, err)
		}
		if strings.ContainsFunc(escaped, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) || !utf8.ValidString(escaped) {
			t.Errorf("%q is passed on", escaped)
		}
	})
}

// A shell gives back each word.
func TestShell(t *testing.T) {
	for word, want := range map[string]string{
		"out/model-0123*.parquet": "out/model-0123*.parquet", "s3://b/a": "s3://b/a", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'", "a;b": "'a;b'", "#a": "'#a'", "é": "é",
	} {
		got := Shell(word)
		if got != want {
			t.Errorf("Shell(%q) = %s, want %s", word, got, want)
		}
		if back, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+got).Output(); err == nil && string(back) != word {
			t.Errorf("a shell makes %q of %s", back, got)
		}
	}
}
