package report

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

func TestWriteCertificateSaysWhatCounts(t *testing.T) {
	c := certifytest.Certificate(t, nil)
	var b bytes.Buffer
	fatal.If(t, WriteCertificate(&b, c, Style{}, Anybody))
	flat := strings.Join(strings.Fields(b.String()), " ")
	mean, draw := c.Guarantees[0], c.Guarantees[1]
	for _, want := range []string{
		"CERTIFIED " + mean.Headline + " CERTIFIED " + draw.Headline + " 1 other job was tried on these rows before this one, says its maker.",
		mean.Statement, draw.Statement, c.Baseline.Statement,
		`What its maker says, and model and rows do not show software "pacsgp test" attempt 2 on these rows, 3 in all, by its log of attempts trained on "amd64/avx2" unit "m/s"`,
		"correlation 0.010 of the targets of 1999 pairs",
		"independent-rows (assumed)", "Neighbouring targets have correlation 0.01.",
		"nothing about any single row", "1800 train", c.Model.Digest, c.Sample.Digest, "61.25 nats",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("the certificate does not say %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("plain text has escape sequences")
	}
	if file := os.Getenv("PACSGP_FIGURES"); file != "" { // to look at it
		fatal.If(t, os.WriteFile(file+"/certificate.txt", b.Bytes(), 0o644))
	}
}

// The bound depends on the number in a sequence, which is the maker's word and stands
// with it.
func TestNumberInASequenceIsTheMakersWord(t *testing.T) {
	c := certifytest.Certificate(t, func(ev *certify.Evidence) {
		ev.Delta.Sequence = &certify.Sequence{Name: "nights", Number: 3}
	})
	var all, word bytes.Buffer
	fatal.If(t, errors.Join(WriteCertificate(&all, c, Style{}, Anybody), WriteDeclared(&word, c, Style{}, false)))
	const said = `number 3 of "nights"`
	about, declared, _ := strings.Cut(all.String(), makersWord)
	if strings.Contains(about, said) || !strings.Contains(declared, said) || !strings.Contains(word.String(), said) {
		t.Errorf("%q does not stand with the maker's word alone:\n%s\n%s", said, all.String(), word.String())
	}
}

func TestWriteCertificateKeepsToTheWidth(t *testing.T) {
	c := certifytest.Certificate(t, nil)
	for _, width := range []int{80, 100, 500} {
		var b bytes.Buffer
		fatal.If(t, WriteCertificate(&b, c, Style{Width: width}, Anybody))
		for line := range strings.SplitSeq(b.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > min(width, 100) {
				t.Errorf("width %d: a line of %d columns: %q", width, n, line)
			}
		}
	}
}

func TestWriteCertificateMarksStatuses(t *testing.T) {
	for status, change := range map[certify.Status]func(ev *certify.Evidence){
		certify.StatusVacuous:    func(ev *certify.Evidence) { ev.KL = 5000 },
		certify.StatusIndicative: func(ev *certify.Evidence) { ev.Jitter.Holds = false },
	} {
		var b bytes.Buffer
		fatal.If(t, WriteCertificate(&b, certifytest.Certificate(t, change), Style{Colour: true}, Anybody))
		if !strings.Contains(b.String(), strings.ToUpper(string(status))) || strings.Contains(b.String(), "CERTIFIED  ") {
			t.Errorf("%s is not marked:\n%s", status, b.String())
		}
		if !strings.Contains(b.String(), "\x1b[") {
			t.Errorf("%s: no colour on a terminal", status)
		}
	}
}

// A certificate may come from anybody: its words must not drive the terminal.
func TestWriteCertificateDoesNotPassOnControlCharacters(t *testing.T) {
	c := certifytest.Certificate(t, nil)
	c.Guarantees[0].Statement = "certified\x1b[2J\x1b]0;title\a \u202edetrever"
	c.Guarantees[0].Status = "cert\x1b[1Aified"
	c.Assumptions[0].Diagnostic = "a\x9bb"
	c.RowRules = []string{"\x00"}
	c.Declared.Software, c.Declared.Unit, c.Guarantees[0].Headline, c.Sample.Columns[1] = "\r\n", "\x1b[2J", "a\x1b[2J", "\x00"
	var b bytes.Buffer
	fatal.If(t, WriteCertificate(&b, c, Style{}, Anybody))
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && Escape(string(r)) != string(r) }); i >= 0 {
		t.Errorf("it prints %q", b.String()[i:i+10])
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteCertificateReturnsTheWritersError(t *testing.T) {
	if err := WriteCertificate(fullDisk{}, certifytest.Certificate(t, nil), Style{}, Anybody); err == nil {
		t.Error("an error of the writer is lost")
	}
}

// The rows that are missed are a whole number, and only of losses that count misses, where it is shown.
func TestMissed(t *testing.T) {
	var exact certify.RiskSum
	fatal.If(t, exact.AddUnits(0))
	of := func(kind certify.LossKind, role certify.Role, upper float64) certify.Guarantee {
		return certify.Guarantee{Role: role, N: 1974, Loss: certify.TargetLoss{Loss: certify.Loss{Kind: kind}}, EmpiricalRisk: certify.Risk{Exact: exact, Upper: upper}}
	}
	for _, c := range []struct {
		g      certify.Guarantee
		missed int64
		counts bool
	}{
		{of(certify.LossZeroOne, certify.RoleHoldout, math.Nextafter(4.0/1974, 1)), 4, true},
		{of(certify.LossBand, certify.RoleHoldout, 0), 0, true},
		{certify.Guarantee{Role: certify.RoleHoldout, N: 40, Loss: certify.TargetLoss{Loss: certify.Loss{Kind: certify.LossBand}}}, 0, false},
		{of(certify.LossSquared, certify.RoleHoldout, 0.1), 0, false},
		{of(certify.LossZeroOne, certify.RoleTrain, 0.1), 0, false},
	} {
		if missed, counts := Missed(c.g); counts != c.counts || counts && missed != c.missed {
			t.Errorf("%+v: %d, %t", c.g.Loss, missed, counts)
		}
	}
}
