package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A job without a tolerance gets a curve; plan says what it would promise, train and inspect what it
// promises, and predict writes the ends of its intervals.
func TestEveryToleranceFromOneJob(t *testing.T) {
	dir := t.TempDir()
	lines(700).write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"loss": "{tolerance: any}", "split": "{holdout: 30 %}", "train": "{passes: 20}", "output": "out"}).write(t, dir)
	say := func(args ...string) string { return strings.Join(strings.Fields(succeed(t, args...).stdout), " ") }
	if text := say("train", "-c", job); !strings.Contains(text, "off by more than ") {
		t.Errorf("train says %s", text)
	}
	model, certificate := only(t, filepath.Join(dir, "out", "model-*.parquet")), only(t, filepath.Join(dir, "out", "certificate-*.json"))
	if text := say("inspect", certificate); !strings.Contains(text, "90 % lie within") {
		t.Errorf("inspect says %s", text)
	}
	out := filepath.Join(dir, "predictions.parquet")
	if text := say("predict", model, certificate, filepath.Join(dir, "lake"), "-o", out, "--interval", "90%"); !strings.Contains(text, "they cover at least 90 % of new rows (95 % confidence)") {
		t.Errorf("predict says %s", text)
	}
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
	if text := say("predict", model, certificate, filepath.Join(dir, "lake"), "-o", out, "--interval", "0.999"); !strings.Contains(text, "± 3.291 predictive deviations: not certified") {
		t.Errorf("predict says %s", text)
	}
	if r := predictions(t, out)[0]; !(math.Abs(*r.Upper-*r.Mean-3.2905267*(*r.Predictive)) <= 1e-6) {
		t.Errorf("%+v", r)
	}
	for share, says := range map[string]string{"1": "no share of new rows", "-0.1": "no share"} {
		if a := pacsgp(t, "predict", model, certificate, filepath.Join(dir, "lake"), "-o", out, "--interval="+share); a.status == 0 || !strings.Contains(a.message, says) {
			t.Errorf("--interval %s: %+v", share, a)
		}
	}
}
