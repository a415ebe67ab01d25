// Package certifytest makes certificates for tests of packages that show them.
package certifytest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
)

// Dependence returns the series of so many rows, in which neighbouring targets have this correlation.
func Dependence(rows int64, correlation float64) certify.Series {
	m := certify.Series{Rows: rows, Squares: rows << 18}
	m.Products[0] = int64(correlation * float64((rows-1)<<18))
	return m
}

// Evidence returns a copy of the evidence of a certificate, which the test may change.
func Evidence(t testing.TB, c certify.Certificate) certify.Evidence {
	t.Helper()
	document, err := certify.Marshal(c)
	if err == nil {
		c, err = certify.Parse(document)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Evidence
}

// Certificate certifies made-up evidence: wind is predicted from temp on 2,000 rows. change, if not nil, may
// alter the evidence first.
func Certificate(t testing.TB, change func(ev *certify.Evidence)) certify.Certificate {
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
	job, err := certify.State(json.RawMessage(`{"delta":0.01}`))
	if err != nil {
		t.Fatal(err)
	}
	ev := certify.Evidence{
		Loss:     certify.TargetLoss{Loss: certify.Loss{Kind: certify.LossZeroOne, Epsilon: 0.6}, Target: "wind", Unit: "m/s"},
		Delta:    certify.Delta{Declared: 0.01, Methods: []certify.MethodID{certify.MethodPACBayes}},
		LossSums: certify.LossSums{{Predictor: certify.PredictorDraw, Subset: certify.SubsetTraining}: {Risk: sum(n, 0.03125)}},
		Constant: certify.Constant{Value: 3.125, Origin: certify.OriginPrior, Risk: sum(n, 0.5)},
		Counts:   certify.Counts{Rows: 2000, Prior: 200, Training: n},
		Sample:   certify.Sample{Digest: strings.Repeat("5a", 32), Targets: strings.Repeat("7e", 32), Shards: 3, Columns: []string{"temp", "wind"}},
		Model: certify.Facts{
			Digest: strings.Repeat("0d", 32), Accuracy: 0x1p-20, KL: 61.25,
			Kernel: certify.Kernel{Family: certify.KernelSquaredExponential, Families: []string{certify.KernelSquaredExponential}},
			Theta: []certify.Parameter{
				{Name: "ln lengthscale of temp", Grid: certify.Grid{Min: -6, Step: 0.01, Count: 1201, Prior: certify.PriorFlat}, Index: 612},
				{Name: "ln variance", Grid: certify.Grid{Min: -6, Step: 0.01, Count: 1201, Prior: certify.PriorFlat}, Index: 600},
			},
			Jitter: certify.JitterCheck{Limit: 5e-9, Holds: true},
		},
		Dependence: Dependence(2000, 0.01),
		Duplicates: certify.Duplicates{Policy: certify.DuplicatesLimited, Limit: 0.01, Rows: 1},
		Job:        job,
		Publisher:  certify.Declared{Software: "pacsgp test", Attempt: certify.Attempt{OnTheseRows: 2, InThisLog: 3}, Training: certify.Training{Machine: "amd64/avx2"}},
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
