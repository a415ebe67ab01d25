package main

import (
	"cmp"
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
