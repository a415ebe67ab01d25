package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Another output begins no new count: the second and the third seed pay for what they can
// have seen, whichever output they have. Without a place that lasts the certificate says so.
func TestLooksArePaidWhateverTheOutput(t *testing.T) {
	dir := t.TempDir()
	lines(700).write(t, lakeFile(dir, 0))
	loss := "{epsilon: 34}"
	train := func(seed, output string, environment map[string]string) string {
		t.Helper()
		job := tiny(jobFile{"loss": loss, "guarantees": "[pac-bayes, holdout]", "roles": "{holdout: 20 %}", "judge": "draw", "grid": "paper", "train": "{passes: 20, seed: " + seed + "}", "output": output})
		var stdout, stderr bytes.Buffer
		if err := run(t.Context(), []string{"train", "-c", job.write(t, dir)}, testSystem(&stdout, &stderr, durable.OS{}, environment)); !errors.Is(err, pipeline.ErrNotCertified) {
			fatal.If(t, err)
		}
		return strings.Join(strings.Fields(stdout.String()+stderr.String()), " ")
	}
	state := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state")}
	for _, c := range []struct{ seed, output, says string }{
		{"0", "one", "First look at them by its maker's log of looks."},
		{"1", "two", "Look 2 at them by its maker's log of looks. Looks as the first look at these hold-out rows the bound of the mean would be "},
		{"2", "two", "Look 3 at them by its maker's log of looks."},
		{"0", "three", "First look at them by its maker's log of looks."},
		{"1", "four", "Look 2 at them by its maker's log of looks."},
	} {
		if text := train(c.seed, c.output, state); !strings.Contains(text, c.says) {
			t.Errorf("seed %s in %s: it does not say %q:\n%s", c.seed, c.output, c.says, text)
		}
	}
	for why, environment := range map[string]map[string]string{"neither HOME nor XDG_STATE_HOME": nil, "this is a container": {"HOME": dir, "container": "podman"}} {
		if text := train("3", "five"+why, environment); !strings.Contains(text, "Looks not counted.") || !strings.Contains(text, "not counted: "+why) {
			t.Errorf("without a place that lasts:\n%s", text)
		}
	}
	loss = "{epsilon: 1e-3}" // which all rows miss
	if text := train("5", "seven", state); !strings.Contains(text, "Look 4 at them") || strings.Contains(text, "as the first look") {
		t.Errorf("two bounds that print alike are compared:\n%s", text)
	}
	loss = "{kind: squared, epsilon: 100}"
	if text := train("4", "six", state); !strings.Contains(text, "Look 5 at them") || strings.Contains(text, "as the first look") {
		t.Errorf("of a bound that stands alone nobody knows what it would be as the first look:\n%s", text)
	}
}
