package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// recorded are the run records of an output, the newest first.
func recorded(t *testing.T, out string) []*pipeline.RunState {
	t.Helper()
	all, err := sinklake.Runs(nil, out)
	fatal.If(t, err)
	return slices.Collect(all)
}

// lastRun is the newest run record of an output.
func lastRun(t *testing.T, out string) *pipeline.RunState {
	t.Helper()
	for _, r := range recorded(t, out) {
		return r
	}
	t.Fatalf("%s: no run record", out)
	return nil
}

func current(t *testing.T, out string) *pipeline.Current {
	t.Helper()
	p, err := sinklake.ReadPointer(nil, out)
	fatal.If(t, err)
	return p
}

// unchanged demands that a run again trained nothing and told which certificate is current.
func unchanged(t *testing.T, a answer, current string) {
	t.Helper()
	if !strings.Contains(a.log, "nothing is trained") || !strings.Contains(a.log, current) {
		t.Errorf("a run again does not say %q: %s", current, a.log)
	}
}

func TestOldRunsGo(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	run := func(delta string) string {
		t.Helper()
		succeed(t, "train", "-c", tiny(jobFile{"delta": delta, "keep": "2", "sign": "{key: " + testKey(t) + "}"}).write(t, dir))
		return current(t, out).ID
	}
	first := run("0.05")
	second := run("0.051")
	third := run("0.052")
	for id, want := range map[string]bool{first: false, second: true, third: true} {
		for _, name := range []string{sinklake.CertificateName(id), sinklake.RowName(id), sinklake.ManifestName(id)} {
			if _, err := os.Stat(filepath.Join(out, name)); (err == nil) != want {
				t.Errorf("%s: %v, want there: %v", name, err, want)
			}
		}
		if signed, err := sinklake.Signatures(nil, out, id); err != nil || (len(signed) == 1) != want {
			t.Errorf("%d signatures of %s, %v, want there: %v", len(signed), id, err, want)
		}
	}
	if all := recorded(t, out); len(all) != 2 {
		t.Errorf("%d records", len(all))
	}
	pointsToWhole(t, "after three runs", out)
	again := succeed(t, "train", "-c", tiny(jobFile{"delta": "0.051", "keep": "2"}).write(t, dir))
	unchanged(t, again, "Current is certificate "+third[:12]+": predictions")
	unchanged(t, again, "pacsgp promote "+second[:12]+" DIR")
}
