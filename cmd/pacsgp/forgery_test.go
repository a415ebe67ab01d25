package main

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// evidenceOf is the evidence that a certificate states.
func evidenceOf(t *testing.T, c certify.Certificate) certify.Evidence {
	t.Helper()
	ev, err := c.Evidence()
	fatal.If(t, err)
	for i := range ev.Assumptions {
		ev.Assumptions[i].Text = ""
	}
	return ev
}

// losses is the exact sum of n losses of one size.
func losses(t *testing.T, n int64, size float64) (sum certify.RiskSum) {
	t.Helper()
	for range n {
		fatal.If(t, sum.Add(size))
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
	forgeries := t.TempDir()
	for name, c := range map[string]struct {
		artifact artifact
		forge    []func(*certify.Evidence)
		byFiles  bool   // refused without data
		reason   string // with data
	}{
		"smaller risk": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Tallies.At(certify.PredictorDraw, certify.RoleTrain).Risk = losses(t, ev.Ledger.Train, 0.001)
		}}, false, ".Risk.sum is"},
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
				ev.Theta[i].Grid.Step, ev.Theta[i].Grid.Count, ev.Theta[i].Grid.Centre, ev.Theta[i].Index = 6, 3, 1, 1
			}
		}}, true, ".Theta[0].grid.centre is 1"},
		"larger tolerance": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Loss.Epsilon *= 2
		}, configuration(`"epsilon": 0.7`, `"epsilon": 1.4`)}, true, "loss"},
		"tolerance unlike the configuration": {honest, []func(*certify.Evidence){configuration(`"epsilon": 0.7`, `"epsilon": 0.5`)}, true, ".loss.epsilon is 0.7"},
		"delta unlike the configuration":     {honest, []func(*certify.Evidence){configuration(`"delta": 0.05`, `"delta": 0.5`)}, true, ".Delta.declared is 0.05"},
		"other key": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Roles.Key = "luck"
		}, configuration(`"key": "pacsgp"`, `"key": "luck"`)}, false, "constant of the baseline"},
		"reference rows certified": {honest, []func(*certify.Evidence){func(ev *certify.Evidence) {
			ev.Ledger.Reference, ev.Ledger.Train, ev.Dependence.Measured.Losses.Rows = 9, 171, 171
			ev.Tallies.At(certify.PredictorDraw, certify.RoleTrain).Risk, ev.Constant.Risk = losses(t, 171, 0.003), losses(t, 171, 0.25)
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
		}, configuration("all-rows", "reference")}, true, "the job makes 18 reference rows of 180"},
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
			fatal.If(t, err)
			ev := evidenceOf(t, original)
			if got := certificateOf(t, ev); !bytes.Equal(got, readFile(t, a.certificate)) {
				t.Fatalf("the true evidence gives another certificate:\n%s", got)
			}
			for _, forge := range c.forge {
				forge(&ev)
			}
			forged := filepath.Join(forgeries, name+".json")
			writeFile(t, forged, certificateOf(t, ev))
			files := pacsgp(t, "verify", a.model, forged, "--judge", "draw") // of some the mean is vacuous
			if c.byFiles {
				files.says(t, exitFailure, "refused", c.reason)
			} else {
				files.leavesOpen(t, "evidence not rechecked")
			}
			pacsgp(t, "verify", a.model, forged, a.lake).says(t, exitFailure, "refused", c.reason)
		})
	}
}

func certificateOf(t *testing.T, ev certify.Evidence) []byte {
	t.Helper()
	c, err := certify.Certify(ev)
	fatal.If(t, err)
	doc, err := certify.Marshal(c)
	fatal.If(t, err)
	return doc
}

// A job that is strict about dependence does not end well on rows that depend on
// each other, and the finding is a number in every form of the certificate.
func TestStrictJobFailsOnSuspiciousRows(t *testing.T) {
	dir := t.TempDir()
	rows := lines(300)
	sorted := rows["y"].([]float64)
	order := make([]int, len(sorted))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(sorted[i], sorted[j]) })
	picked := table{}
	for name, column := range rows {
		values := column.([]float64)
		out := make([]float64, len(values))
		for i, at := range order {
			out[i] = values[at]
		}
		picked[name] = out
	}
	picked.write(t, lakeFile(dir, 0))
	for _, c := range []struct {
		strict string
		status int
	}{{"false", 0}, {"true", exitNotCertified}} {
		out := t.TempDir()
		a := pacsgp(t, "train", "-c", tiny(jobFile{"loss": "{epsilon: 8}", "strict": c.strict}).write(t, dir), "-o", out)
		r := record(t, out)
		if a.status != c.status || !r.Suspicious || r.Draw.Status != certify.StatusCertified {
			t.Errorf("strict: %s: status %d (%s), suspicious %v, the draw is %s", c.strict, a.status, a.message, r.Suspicious, r.Draw.Status)
		}
		if c.status != 0 && !strings.Contains(a.message, "strict") {
			t.Errorf("it does not say why: %s", a.message)
		}
	}
}
