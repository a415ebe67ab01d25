package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// compare says which certificates are comparable, and gives each number again at delta/K.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, change func(*certify.Evidence)) string {
		document, err := certify.Marshal(certifytest.Certificate(t, change))
		fatal.If(t, err)
		path := filepath.Join(dir, name+".json")
		writeFile(t, path, document)
		return path
	}
	one := write("one", nil)
	other := write("other", func(ev *certify.Evidence) { ev.KL = 30 })
	wider := write("wider", func(ev *certify.Evidence) { ev.Loss.Epsilon = 0.7 })
	surer := write("surer", func(ev *certify.Evidence) { ev.Delta.Declared = 0.001 })
	said := succeed(t, "compare", one, other).stdout
	text := strings.Join(strings.Fields(said), " ")
	third := certifytest.Certificate(t, func(ev *certify.Evidence) { ev.Delta.Alternatives = 2 })
	at, _ := third.Guarantee(certify.GuaranteeDraw)
	for _, words := range []string{"1 and 2 are comparable", "Not both have hold-out rows", "as one of 2 " + certify.AtMost(at.Bound), "each at delta/2"} {
		if !strings.Contains(text, words) {
			t.Errorf("compare does not say %q:\n%s", words, said)
		}
	}
	if lines := strings.Count(said, "\n"); lines > 24 {
		t.Errorf("it takes %d lines", lines)
	}
	text = strings.Join(strings.Fields(succeed(t, "compare", one, wider, surer).stdout), " ")
	for _, words := range []string{"1 and 2 are not comparable: the tolerance: 0.6 and 0.7", "1 and 3 are not comparable: delta: 0.01 and 0.001", "the best number among these says nothing"} {
		if !strings.Contains(text, words) {
			t.Errorf("compare does not say %q:\n%s", words, text)
		}
	}
	document, err := certify.Marshal(certifytest.Certificate(t, nil))
	fatal.If(t, err)
	lie := filepath.Join(dir, "lie.json")
	writeFile(t, lie, []byte(strings.Replace(string(document), `"kl": 61.25`, `"kl": 1.25`, 1)))
	if a := pacsgp(t, "compare", one, lie); a.status != 1 || !strings.Contains(a.message, "lie.json") {
		t.Errorf("status %d: %s", a.status, a.message)
	}
}
