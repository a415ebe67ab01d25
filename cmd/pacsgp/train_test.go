package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A job without a tolerance gets a curve; plan says what it would promise, train and inspect what it
// promises, and predict writes the ends of its intervals.
func TestEveryToleranceFromOneJob(t *testing.T) {
	dir := t.TempDir()
	lines(700).write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"loss": "{tolerance: any}", "split": "{holdout: 30 %}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	pacsgp(t, "train", "-c", job).says(t, 0, "off by more than ")
	model, certificate := only(t, filepath.Join(dir, "out", "model-*.parquet")), only(t, filepath.Join(dir, "out", "certificate-*.json"))
	pacsgp(t, "inspect", certificate).says(t, 0, "90 % lie within")
	out := filepath.Join(dir, "predictions.parquet")
	predict := func(share string) answer {
		return pacsgp(t, "predict", model, certificate, filepath.Join(dir, "lake"), "-o", out, "--interval="+share)
	}
	predict("90%").says(t, 0, "they cover at least 90 % of new rows (95 % confidence)")
	rows := predictions(t, out)
	c, _, err := config.ReadCertificate(t.Context(), certificate)
	fatal.If(t, err)
	g, _ := c.Claim(certify.ClaimCurve)
	tolerance, _ := g.Curve.Within(0.9)
	for _, r := range rows {
		if off := math.Abs(*r.Upper-*r.Mean-tolerance) + math.Abs(*r.Mean-*r.Lower-tolerance); !(off <= 1e-9*tolerance) {
			t.Fatalf("%+v is no interval of %v", r, tolerance)
		}
	}
	predict("0.999").says(t, 0, "not certified: they are the prediction ± 3.291 predictive")
	if r := predictions(t, out)[0]; !(math.Abs(*r.Upper-*r.Mean-3.2905267*(*r.Predictive)) <= 1e-6) {
		t.Errorf("%+v", r)
	}
	predict("1").says(t, exitUsage, "want a number between 0 and 1")
	predict("-0.1").says(t, exitUsage, "want a number")
}

// A verifier refuses a text that has the label of a group's: found by trying 2²⁷ of them.
func TestTextsOfOneLabel(t *testing.T) {
	const one, other = "site-1d104aa677d3f5", "site-1a66eb42eb43d1"
	if job.Label(one) != job.Label(other) {
		t.Fatal("the labels differ")
	}
	dir, texts := t.TempDir(), make([]string, 700)
	for i := range texts {
		texts[i] = []string{one, "WN"}[i%2]
	}
	lines(700).with("g", texts).write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"groups": "{g: [" + one + "]}", "split": "{holdout: 30 %}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	succeed(t, "train", "-c", job)
	for i := range texts {
		if i%4 == 0 {
			texts[i] = other
		}
	}
	lines(700).with("g", texts).write(t, lakeFile(dir, 0))
	pacsgp(t, "verify", filepath.Join(dir, "out"), filepath.Join(dir, "lake")).says(t, exitFailure, "have the same label")
}

// Each model that is tested on the same held-out rows pays for those before it in its output, also for
// those of jobs that were interrupted before they published. The same job again is the same
// attempt and the same use.
func TestReuseIsCountedInTheOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines(700).write(t, lakeFile(dir, 0))
	loss := "{epsilon: 34}"
	args := func(seed, output string) []string {
		job := tiny(jobFile{"loss": loss, "guarantees": "[pac-bayes, holdout]", "split": "{holdout: 20 %}", "require": "draw", "grid": "paper", "train": "{passes: 20, seed: " + seed + "}", "output": output})
		return []string{"train", "-c", job.write(t, dir)}
	}
	train := func(seed, output string, attempt int64, says string) {
		t.Helper()
		a := pacsgp(t, args(seed, output)...)
		if text := strings.Join(strings.Fields(a.stdout), " "); a.status != 0 && a.status != exitNotCertified || !strings.Contains(text, says) {
			t.Errorf("seed %s in %s: status %d, it does not say %q:\n%s%s", seed, output, a.status, says, text, a.message)
		}
		if r := record(t, filepath.Join(dir, output)); r.Attempt.OnTheseRows != attempt || r.Attempt.InThisLog != attempt {
			t.Errorf("seed %s in %s: attempt %+v, want %d", seed, output, r.Attempt, attempt)
		}
	}
	train("0", "one", 1, "first use of exactly these held-out rows in this output")
	interrupted(t, `"`+string(job.PhaseLastPass)+`"`, args("1", "one")...).says(t, exitInterrupted, "interrupted")
	interrupted(t, `"`+string(job.PhaseTrain)+`"`, args("2", "one")...).says(t, exitInterrupted, "interrupted")
	train("3", "one", 4, "pays for 2 earlier use")
	train("1", "one", 2, "pays for 1 earlier use")
	train("2", "one", 3, "pays for 3 earlier use")
	train("3", "two", 1, "first use of exactly these held-out rows in this output")
	loss = "{kind: squared, epsilon: 100}" // a bound that stands alone
	train("4", "one", 5, "pays for 4 earlier use")
}

// Delays of flights have heavy tails, and their files follow the calendar: full
// steps of q would send its mean far away, to bounds near 1.
func TestHeavyTailsDoNotRunAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("two passes through half a million flights: the nightly suite makes them")
	}
	dir := t.TempDir()
	job := jobFile{
		"source": "{paths: [" + fatal.Data(t, "flights") + "]}", "target": "delay", "features": "[distance, time]",
		"loss": "{kind: zero-one, epsilon: 15}", "delta": "0.01", "output": "out",
		"inducing": "[150]", "train": "{passes: 2, objective: bound}", "duplicates": "keep", // few values: flights of one delay are no duplicates
	}.write(t, dir)
	pacsgp(t, "train", "-c", job)
	trace := record(t, filepath.Join(dir, "out")).Training.Trace
	first, last := trace[0].Bound, trace[len(trace)-1].Bound
	t.Logf("estimated bound %g at first, %g at last", first, last)
	if !(last <= first+0.03) {
		t.Errorf("the estimated bound went from %g to %g", first, last)
	}
}

// only is the one file that a pattern finds.
func only(t *testing.T, pattern string) string {
	t.Helper()
	all := found(t, pattern)
	if len(all) != 1 {
		t.Fatalf("%s: %q, want one file", pattern, all)
	}
	return all[0]
}
