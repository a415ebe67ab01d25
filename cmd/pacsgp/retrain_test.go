package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
)

// heldOut makes an artifact on 700 rows whose mean is certified by hold-out rows only.
func heldOut(t *testing.T) artifact {
	t.Helper()
	dir := t.TempDir()
	lines(700).write(t, lakeFile(dir, 0))
	return retrained(t, dir, heldOutJob())
}

func heldOutJob() jobFile {
	return jobFile{"loss": "{epsilon: 34}", "guarantees": "[pac-bayes, holdout]", "roles": "{holdout: 20 %}", "require": "prediction", "grid": "paper", "train": "{passes: 20}"}
}

// A check lists what it did not find. Without rows it ends with status 3. Training again shows one of
// three things that a hold-out rests on, and not who chose the rows.
func TestVerifyRetrain(t *testing.T) {
	a := heldOut(t)
	if r := record(t, a.out); r.Exit != 0 || r.Status != certify.StatusConditional || r.Mean.Status != certify.StatusConditional {
		t.Fatalf("the run says %s, exit status %d: it kept the hold-out rows apart itself, by the default key", r.Status, r.Exit)
	}
	const open = "NOT CHECKED: that training did not see the hold-out rows"
	flat := func(a answer) string { return strings.Join(strings.Fields(a.stdout), " ") }
	for status, args := range map[string][]string{"CLAIMED": nil, "CONDITIONAL": {a.lake}} {
		got := pacsgp(t, append([]string{"verify", a.model, a.certificate}, args...)...)
		if text := flat(got); (got.status == exitNotCertified) != (args == nil) || !strings.Contains(text, open) ||
			!strings.Contains(text, status+" predictions") || strings.Contains(text, "verified:") != (args != nil) {
			t.Errorf("verify %q: status %d (%s), and it says\n%s", args, got.status, got.message, got.stdout)
		}
		if args == nil && !strings.Contains(got.message, "nothing is certified without the rows") {
			t.Errorf("verify %q ends with %q", args, got.message)
		}
	}
	again := pacsgp(t, "verify", a.model, a.certificate, a.lake, "--retrain")
	if text := flat(again); again.status != 0 || strings.Contains(text, open) || !strings.Contains(text, "NOT CHECKED: that which rows are hold-out rows was fixed before their values were known") ||
		!strings.Contains(text, "NOT CHECKED: that the job owes nothing to the values of the hold-out rows") || !strings.Contains(text, "and the model from training again") ||
		!strings.Contains(text, `Hold-out rows: 139 of 700 rows, by the default key "pacsgp"`) || !strings.Contains(text, "CONDITIONAL predictions") {
		t.Errorf("after training again it says\n%s", again.stdout)
	}
	var d verdictDocument
	if err := json.Unmarshal([]byte(pacsgp(t, "verify", a.model, a.certificate, a.lake, "--retrain", "--json").stdout), &d); err != nil || !d.Retrained || len(d.NotChecked) != 2 || d.Guarantees[0].Status != certify.StatusConditional {
		t.Errorf("in JSON it says %+v (%v)", d, err)
	}
	plain := pacsgp(t, "verify", a.model, a.certificate, a.lake, "--json")
	d = verdictDocument{}
	if err := json.Unmarshal([]byte(plain.stdout), &d); err != nil || plain.status != 0 || d.Retrained || len(d.NotChecked) != 3 || d.Guarantees[0].Status != certify.StatusConditional {
		t.Errorf("in JSON, without, it says %+v (%v), status %d", d, err, plain.status)
	}
	pacsgp(t, "verify", a.model, a.certificate, "--retrain").says(t, exitUsage, "--retrain: name the data")

	inspected := flat(succeed(t, "inspect", a.certificate))
	if !strings.Contains(inspected, "CLAIMED predictions") {
		t.Errorf("inspect says\n%s", inspected)
	}
}
