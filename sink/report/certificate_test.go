package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

var update = flag.Bool("update", false, "rewrite the golden text")

// held gives a certificate held-out rows, of which some were missed.
func held(t *testing.T, ev *certify.Evidence, misses int) {
	t.Helper()
	ev.Delta.Methods = append(ev.Delta.Methods, certify.MethodHoldout)
	ev.Counts.Prior, ev.Counts.Holdout = ev.Counts.Prior-100, 100
	ev.Dependence = certifytest.Dependence(1900, 0.01)
	for i := range 100 {
		loss := 0.0
		if i < misses {
			loss = 1
		}
		fatal.If(t, ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout).AddSpread(loss))
	}
}

// What people read of certificates of all kinds, in one file to be read from top to bottom.
func TestCertificatesInWords(t *testing.T) {
	var b bytes.Buffer
	show := func(name string, whole bool, change func(ev *certify.Evidence)) {
		t.Helper()
		c := certifytest.Certificate(t, change)
		_, _ = fmt.Fprintf(&b, "=== %s\n", name)
		if whole {
			fatal.If(t, WriteCertificate(&b, c, Style{}))
			return
		}
		WriteSummary(&b, c, Style{})
	}
	show("held-out rows, whole", true, func(ev *certify.Evidence) { held(t, ev, 4) })
	show("no held-out rows", false, nil)
	show("vacuous", false, func(ev *certify.Evidence) { held(t, ev, 70); ev.Model.KL = 5000 })
	show("a bound of 1", false, func(ev *certify.Evidence) { ev.Model.KL = 1e6 })
	show("void: the factor", false, func(ev *certify.Evidence) { ev.Model.Jitter.Holds = false })
	show("void: a curve was shown before", false, func(ev *certify.Evidence) {
		held(t, ev, 4)
		ev.Delta.Reuse = &certify.Reuse{Earlier: []int64{100}, Ended: true}
	})
	show("a second use of the held-out rows", false, func(ev *certify.Evidence) {
		held(t, ev, 4)
		ev.Delta.Reuse = &certify.Reuse{Earlier: []int64{100}}
	})
	show("run 3 of a sequence", false, func(ev *certify.Evidence) { ev.Delta.Sequence = &certify.Sequence{Name: "nightly", Number: 3} })
	show("duplicates, rejected and alike rows", false, func(ev *certify.Evidence) {
		ev.Duplicates = certify.Duplicates{Policy: certify.DuplicatesDropped, Rows: 60}
		ev.Counts.Duplicates, ev.Counts.Rejected, ev.Counts.Prior = 60, 40, 100
		ev.Dependence = certifytest.Dependence(1900, 0.3)
	})
	for _, loss := range []certify.Loss{
		{Kind: certify.LossBand, Below: 1, Above: 2},
		{Kind: certify.LossRelativeZeroOne, Epsilon: 0.1},
		{Kind: certify.LossSquared, Epsilon: 0.25},
		{Kind: certify.LossExponential, Epsilon: 0.25},
		{Kind: certify.LossRelative},
	} {
		show(string(loss.Kind), false, func(ev *certify.Evidence) { ev.Loss.Loss = loss })
	}
	show("rows of a topic", false, func(ev *certify.Evidence) {
		ev.Sample.Segments = []certify.Segment{
			{Topic: "wind", Partition: 0, First: 0, End: 900, Rows: 800}, {Topic: "wind", Partition: 1, First: 5, End: 706, Rows: 700}, {Topic: "wind", Partition: 2, First: 0, End: 500, Rows: 500},
		}
	})
	name := filepath.Join("testdata", "certificates.txt")
	if *update {
		fatal.If(t, os.MkdirAll("testdata", 0o755))
		fatal.If(t, os.WriteFile(name, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(name)
	fatal.If(t, err)
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("the texts are others than in %s (read them, then run with -update):\n%s", name, b.String())
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}

// A certificate may come from anybody: its words must not drive the terminal.
func TestWriteCertificateDoesNotPassOnControlCharacters(t *testing.T) {
	c := certifytest.Certificate(t, nil)
	c.Claims[0].ID = "certified\x1b[2J\x1b]0;title\a \u202edetrever"
	c.Claims[0].Status = "cert\x1b[1Aified"
	c.Assumptions[0].ID = "a\x9bb"
	c.Warnings[0].Code = "\x00"
	c.Publisher.Software, c.Loss.Unit, c.Loss.Target = "\r\n", "\x1b[2J", "a\x1b[2J"
	var b bytes.Buffer
	fatal.If(t, WriteCertificate(&b, c, Style{}))
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && Escape(string(r)) != string(r) }); i >= 0 {
		t.Errorf("it prints %q", b.String()[i:i+10])
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteCertificateReturnsTheWritersError(t *testing.T) {
	if err := WriteCertificate(fullDisk{}, certifytest.Certificate(t, nil), Style{}); err == nil {
		t.Error("an error of the writer is lost")
	}
}
