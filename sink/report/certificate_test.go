package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
)

// testCertificate certifies made-up evidence.
func testCertificate(t testing.TB, change func(ev *certify.Evidence)) certify.Certificate {
	t.Helper()
	sum := func(n int, loss float64) (s certify.RiskSum) {
		for range n {
			if err := s.Add(loss); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	const n = 1800
	ev := certify.Evidence{
		Loss:    certify.TargetLoss{Loss: certify.Loss{Kind: certify.LossZeroOne, Epsilon: 0.6}, Target: "wind"},
		Delta:   certify.Delta{Declared: 0.01, Alternatives: 1, Alternative: 1, Methods: []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}}},
		Tallies: []certify.Tally{{Predictor: certify.PredictorDraw, Role: certify.RoleTrain, Risk: sum(n, 0.03125), LowerRisk: sum(n, 0.03125)}}, Accuracy: 0x1p-20, KL: 61.25,
		Kernel: certify.Kernel{Family: certify.KernelSquaredExponential, Families: []string{certify.KernelSquaredExponential}, ARD: true},
		Theta: []certify.Parameter{
			{Name: "ln lengthscale of temp", Grid: certify.Grid{Min: -6, Step: 0.01, Count: 1201, Prior: certify.PriorFlat}, Index: 612},
			{Name: "ln variance", Grid: certify.Grid{Min: -6, Step: 0.01, Count: 1201, Prior: certify.PriorFlat}, Index: 600},
		},
		Constant: certify.Constant{Value: 3.125, Origin: certify.OriginReference, Risk: sum(n, 0.5)},
		Ledger:   certify.Ledger{Unit: "row", Rows: 2000, Reference: 200, Train: n},
		Sample:   certify.Sample{Digest: strings.Repeat("5a", 32), Targets: strings.Repeat("7e", 32), Shards: 3, Rows: 2000, Columns: []string{"temp", "wind"}},
		RowRules: certify.RowRules(), ModelDigest: strings.Repeat("0d", 32),
		Configuration: json.RawMessage(`{"delta":0.01}`), RolesKey: "pacsgp",
		Jitter:     certify.JitterCheck{Limit: 5e-9, Holds: true},
		Dependence: certify.NewDependence(1997, 0.01),
		Copies:     certify.Copies{Policy: certify.CopiesLimited, Limit: 0.01, Distinct: 1999, Rows: 1, Features: 4},
		Declared:   certify.Declared{Unit: "m/s", Software: "pacsgp test", Attempt: certify.Attempt{OnTheseRows: 2, InThisLog: 3}, Training: certify.Training{Machine: "amd64/avx2"}},
	}
	for _, id := range []certify.AssumptionID{
		certify.AssumeIndependentRows, certify.AssumePriorFirst, certify.AssumeLossFirst,
		certify.AssumeRolesByKey, certify.AssumeSeparatePass, certify.AssumeLossProven,
	} {
		a := certify.Assumption{ID: id, Status: certify.AssumptionEnforced}
		if id == certify.AssumeIndependentRows {
			a.Status, a.Diagnostic = certify.AssumptionAssumed, "Neighbouring targets have correlation 0.01."
		}
		ev.Assumptions = append(ev.Assumptions, a)
	}
	if change != nil {
		change(&ev)
	}
	c, err := certify.Certify(ev)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWriteCertificateSaysWhatCounts(t *testing.T) {
	c := testCertificate(t, nil)
	var b bytes.Buffer
	if err := WriteCertificate(&b, c, Style{}); err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(b.String()), " ")
	mean, draw := c.Guarantees[0], c.Guarantees[1]
	for _, want := range []string{
		"CERTIFIED " + mean.Headline + " CERTIFIED " + draw.Headline + " 1 other job was tried on these rows before this one, says its maker.",
		mean.Statement, draw.Statement, c.Baseline.Statement,
		`What its maker says, and model and rows do not show software "pacsgp test" attempt 2 on these rows, 3 in this log trained on "amd64/avx2" unit "m/s"`,
		"correlation 0.010 of the targets of 1997 pairs",
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
		if err := os.WriteFile(file+"/certificate.txt", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteCertificateKeepsToTheWidth(t *testing.T) {
	c := testCertificate(t, nil)
	for _, width := range []int{80, 100, 500} {
		var b bytes.Buffer
		if err := WriteCertificate(&b, c, Style{Width: width}); err != nil {
			t.Fatal(err)
		}
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
		if err := WriteCertificate(&b, testCertificate(t, change), Style{Colour: true}); err != nil {
			t.Fatal(err)
		}
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
	c := testCertificate(t, nil)
	c.Guarantees[0].Statement = "certified\x1b[2J\x1b]0;title\a \u202edetrever"
	c.Guarantees[0].Status = "cert\x1b[1Aified"
	c.Assumptions[0].Diagnostic = "a\x9bb"
	c.RowRules = []string{"\x00"}
	c.Declared.Software, c.Declared.Unit, c.Guarantees[0].Headline, c.Sample.Columns[1] = "\r\n", "\x1b[2J", "a\x1b[2J", "\x00"
	var b bytes.Buffer
	if err := WriteCertificate(&b, c, Style{}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && Escape(string(r)) != string(r) }); i >= 0 {
		t.Errorf("it prints %q", b.String()[i:i+10])
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteCertificateReturnsTheWritersError(t *testing.T) {
	if err := WriteCertificate(fullDisk{}, testCertificate(t, nil), Style{}); err == nil {
		t.Error("an error of the writer is lost")
	}
}

// The rows that are missed are a whole number, and only of losses that count misses.
func TestMissed(t *testing.T) {
	of := func(kind certify.LossKind, role certify.Role, upper float64) certify.Guarantee {
		return certify.Guarantee{Role: role, N: 1974, Loss: certify.TargetLoss{Loss: certify.Loss{Kind: kind}}, EmpiricalRisk: certify.Risk{Upper: upper}}
	}
	for _, c := range []struct {
		g      certify.Guarantee
		missed int64
		counts bool
	}{
		{of(certify.LossZeroOne, certify.RoleHoldout, math.Nextafter(4.0/1974, 1)), 4, true},
		{of(certify.LossBand, certify.RoleHoldout, 0), 0, true},
		{of(certify.LossSquared, certify.RoleHoldout, 0.1), 0, false},
		{of(certify.LossZeroOne, certify.RoleTrain, 0.1), 0, false},
	} {
		if missed, counts := Missed(c.g); counts != c.counts || counts && missed != c.missed {
			t.Errorf("%+v: %d, %t", c.g.Loss, missed, counts)
		}
	}
}
