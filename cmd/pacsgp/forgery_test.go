package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
)

// evidenceOf is the evidence that a certificate states.
func evidenceOf(t *testing.T, c certify.Certificate) certify.Evidence {
	t.Helper()
	ev, err := c.Evidence()
	if err != nil {
		t.Fatal(err)
	}
	for i := range ev.Assumptions {
		ev.Assumptions[i].Text = ""
	}
	return ev
}

// losses is the exact sum of n losses of one size.
func losses(t *testing.T, n int64, size float64) (sum certify.RiskSum) {
	t.Helper()
	for range n {
		if err := sum.Add(size); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

// A forger who makes a whole certificate, with every number and sentence
// following from false evidence, is found out: by the files where they know
// better, by the rows else.
func TestVerifyForgery(t *testing.T) {
	honest := trained(t)
	allRows := retrained(t, honest.dir, jobFile{"scaling": "{mode: all-rows}"})
	configuration := func(old, other string) func(*certify.Evidence) {
		return func(ev *certify.Evidence) {
			if !bytes.Contains(ev.Configuration, []byte(old)) {
				t.Errorf("the configuration %s has no %s", ev.Configuration, old)
			}
			ev.Configuration = bytes.Replace(ev.Configuration, []byte(old), []byte(other), 1)
		}
	}
	for name, c := range map[string]struct {
		artifact artifact
		forge    []func(*certify.Evidence)
		byFiles  bool   // refused without data
		reason   string // with data
	}{
		"smaller risk": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Risk = losses(t, ev.Ledger.Train, 0.001)
			ev.LowerRisk = ev.Risk
		}}, false, ".LowerRisk.sum is"},
		"worse baseline": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Constant.Risk = losses(t, ev.Ledger.Train, 0.9)
		}}, false, ".Constant.Risk.sum is"},
		"other constant": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Constant.Value += 3
		}}, false, "constant"},
		"smaller KL": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.KL /= 2
		}}, true, "KL"},
		"cheaper grid": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			for i := range ev.Theta {
				ev.Theta[i].Grid.Step, ev.Theta[i].Grid.Count, ev.Theta[i].Index = 6, 3, 1
			}
		}}, true, ".Theta[0].grid.count is 3"},
		"larger tolerance": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Loss.Epsilon *= 2
		}, configuration(`"epsilon": 0.7`, `"epsilon": 1.4`)}, true, "loss"},
		"tolerance unlike the configuration": {honest, []func(*certify.Evidence){configuration(`"epsilon": 0.7`, `"epsilon": 0.5`)}, true, ".loss.epsilon is 0.7"},
		"delta unlike the configuration":     {honest, []func(*certify.Evidence){configuration(`"delta": 0.05`, `"delta": 0.5`)}, true, ".Delta.declared is 0.05"},
		"other key": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.RolesKey = "luck"
		}, configuration(`"key": "pacsgp"`, `"key": "luck"`)}, false, "constant of the baseline"},
		"reference rows certified": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Ledger.Reference, ev.Ledger.Train = 9, 171
			ev.Risk, ev.Constant.Risk = losses(t, 171, 0.003), losses(t, 171, 0.25)
			ev.LowerRisk = ev.Risk
		}}, true, "makes 18 reference rows of 180"},
		"unbroken prior": {allRows, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Assumptions[1].Status, ev.Assumptions[1].Diagnostic = certify.AssumptionEnforced, ""
		}}, true, ".Assumptions[1].diagnostic"},
		"scaling by reference rows": {allRows, []func(*certify.Evidence){func(ev *certify.Evidence) {
			for i := range ev.Assumptions {
				if a := &ev.Assumptions[i]; a.Status == certify.AssumptionBroken {
					a.Status, a.Diagnostic = certify.AssumptionEnforced, ""
				}
			}
		}, configuration("all-rows", "reference")}, false, "reference rows: .features[0].centre"},
		"other sample": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Sample.Digest = strings.Repeat("0", 64)
		}}, false, "sample digest"},
		"other model": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.ModelDigest = strings.Repeat("0", 64)
		}}, true, "SHA-256"},
		"other columns": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Sample.Columns = []string{"x2", "x1", "y"}
			ev.Theta = slices.Clone(ev.Theta)
			ev.Theta[0].Name, ev.Theta[1].Name = ev.Theta[1].Name, ev.Theta[0].Name
		}}, true, ".Sample.columns[0] is x2"},
		"other seed": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.OptimiserSeed = 9
		}}, true, ".OptimiserSeed is 9"},
		"smaller jitter": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Jitter.Limit *= 2
		}}, true, ".Jitter.limit"},
		"milder diagnostic": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Assumptions[0].Diagnostic = "Nothing speaks against independence."
		}}, true, ".Assumptions[0].diagnostic"},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.artifact
			original, err := certify.Parse(readFile(t, a.certificate))
			if err != nil {
				t.Fatal(err)
			}
			ev := evidenceOf(t, original)
			if got := certificateOf(t, ev); !bytes.Equal(got, readFile(t, a.certificate)) {
				t.Fatalf("the true evidence gives another certificate:\n%s", got)
			}
			for _, forge := range c.forge {
				forge(&ev)
			}
			forged := filepath.Join(t.TempDir(), "forged.json")
			writeFile(t, forged, certificateOf(t, ev))
			files := pacsgp(t, "verify", a.model, forged)
			if c.byFiles {
				files.says(t, exitFailure, "refused", c.reason)
			} else {
				files.says(t, 0, "evidence not rechecked")
			}
			pacsgp(t, "verify", a.model, forged, a.lake).says(t, exitFailure, "refused", c.reason)
		})
	}
}

func certificateOf(t *testing.T, ev certify.Evidence) []byte {
	t.Helper()
	c, err := certify.Certify(ev)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := certify.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
