package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// An audit under a given key repeats itself, says what it does not show, and leaves a
// certificate that verifies; under no given key it draws one.
func TestAudit(t *testing.T) {
	a := heldOut(t)
	dir := filepath.Join(t.TempDir(), "mine")
	first := succeed(t, "audit", a.model, a.certificate, a.lake, "--key", "mine", "-o", dir)
	text := strings.Join(strings.Fields(first.stdout), " ")
	for _, want := range []string{"key mine (the key was given", "maker's ", "yours ", "does not contradict", "NOT CHECKED: that the job owes nothing to the values of these rows", "CONDITIONAL predictions (the mean of Q)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit does not say %q:\n%s", want, first.stdout)
		}
	}
	own := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		return found[0]
	}
	if got := pacsgp(t, "verify", own("model-*.parquet"), own("certificate-*.json"), a.lake); got.status != exitNotCertified {
		t.Errorf("the auditor's certificate: status %d: %s", got.status, got.message)
	}
	one, two := succeed(t, "audit", a.model, a.certificate, a.lake).stdout, succeed(t, "audit", a.model, a.certificate, a.lake).stdout
	if !strings.Contains(one, "drawn here at random") || one == two {
		t.Errorf("two audits draw one key:\n%s", one)
	}
	pacsgp(t, "audit", a.model, a.certificate).says(t, exitUsage, "name the data")
}
