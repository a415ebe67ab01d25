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

// above runs a job with a limit that no bound can meet.
func above(t *testing.T, job string) {
	t.Helper()
	if a := pacsgp(t, "train", "-c", job, "--limit", "0.0001"); a.status != exitNotCertified {
		t.Fatalf("status %d: %s", a.status, a.message)
	}
}

// unchanged demands that a run again trained nothing and told which certificate is current.
func unchanged(t *testing.T, a answer, current string) {
	t.Helper()
	if !strings.Contains(a.log, "nothing is trained") || !strings.Contains(a.log, current) {
		t.Errorf("a run again does not say %q: %s", current, a.log)
	}
}

func TestPointerMovesWithStatusZeroOnly(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	above(t, tiny(nil).write(t, dir))
	if p := current(t, out); p != nil {
		t.Errorf("a run above its limit moved the pointer to %s", p.ID)
	}
	unchanged(t, pacsgp(t, "train", "-c", tiny(nil).write(t, dir), "--limit", "0.0001"), "No certificate is current")
	if r := lastRun(t, out); r.State != pipeline.StateFinished || *r.Exit != exitNotCertified || !strings.Contains(r.Fault, "limit") {
		t.Errorf("its record says %+v", r)
	}
	if r := record(t, out); r.Exit != exitNotCertified || r.Fault == "" {
		t.Errorf("run.json says exit status %d, %q", r.Exit, r.Fault)
	}
	// The same job with another limit is the same run; its pointer has to move.
	unchanged(t, succeed(t, "train", "-c", tiny(nil).write(t, dir)), "It is the current one")
	succeed(t, "train", "-c", tiny(jobFile{"train": "{passes: 2.5}"}).write(t, dir))
	first := current(t, out)
	if r := record(t, out); first == nil || first.ID != r.ID || first.Bound != r.Bound || r.Exit != 0 {
		t.Fatalf("the pointer is %+v, the run %s", first, r.ID)
	}
	pointsToWhole(t, "after a run", out)

	// A run that fails leaves pointer and run.json.
	before := string(readFile(t, filepath.Join(out, sinklake.RunFile)))
	writeFile(t, filepath.Join(dir, "lake", "zz.parquet"), []byte("no Parquet at all, and long enough"))
	if a := pacsgp(t, "train", "-c", tiny(jobFile{"delta": "0.04"}).write(t, dir)); a.status != exitFailure {
		t.Fatalf("status %d", a.status)
	}
	if got := current(t, out); *got != *first || string(readFile(t, filepath.Join(out, sinklake.RunFile))) != before {
		t.Errorf("a run that failed changed the pointer to %+v", got)
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
