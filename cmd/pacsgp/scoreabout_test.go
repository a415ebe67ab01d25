package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// What the predictions of an output are about is decided by the first model, for every
// process that comes later: another tolerance is refused until the record is removed.
func TestScoreRemembersWhatItIsAbout(t *testing.T) {
	dir, pointers, score := following(t, 1, 20)
	out := filepath.Join(dir, "scored")
	once := func() answer {
		t.Helper()
		return pacsgp(t, "score", "-c", score, "--once")
	}
	// A file that cannot be read gets no predictions, and decides nothing.
	first := readFile(t, filepath.Join(dir, "new", "part-00.parquet"))
	writeFile(t, filepath.Join(dir, "new", "part-00.parquet"), []byte("PAR1 and no more PAR1"))
	once().says(t, exitFailure, "could not be predicted")
	record := filepath.Join(out, "_"+lake.CertificateName(idOf(t, pointers[0])))
	if _, err := os.Stat(record); err == nil {
		t.Error("without a prediction it is recorded what they are about")
	}
	writeFile(t, filepath.Join(dir, "new", "part-00.parquet"), first)
	if a := once(); a.status != 0 {
		t.Fatal(a.message)
	}
	whole := readFile(t, record)

	// The same loss by another process, with another model: that is a new champion.
	point(t, dir, pointers[1])
	writeFile(t, filepath.Join(dir, "new", "part-01.parquet"), first)
	if a := once(); a.status != 0 {
		t.Errorf("a model of the same loss: status %d, %s", a.status, a.message)
	}
	// Another tolerance.
	writeFile(t, filepath.Join(dir, "new", "part-02.parquet"), first)
	succeed(t, "train", "-c", tiny(jobFile{"loss": "{epsilon: 0.8}"}).write(t, dir))
	once().says(t, exitFailure, "loss or tolerance differ", record, "remove")
	if got := scored(t, dir); len(got) != 2 || got["part-02"] != nil {
		t.Errorf("%d files have predictions, want 2", len(got))
	}

	for name, damaged := range map[string][]byte{
		"nothing": nil, "half of it": whole[:len(whole)/2], "another tolerance": []byte(strings.ReplaceAll(string(whole), `"epsilon": 0.7`, `"epsilon": 0.8`)),
		"another file": []byte(`{"format":"pacsgp-current/1"}`), "much": make([]byte, config.MaxCertificate+1),
	} {
		if string(damaged) == string(whole) {
			t.Fatalf("%s: it is the same", name)
		}
		writeFile(t, record, damaged)
		a := once()
		if a.says(t, exitFailure, record, "remove"); strings.Contains(a.message, "differ") {
			t.Errorf("%s: it is believed: %s", name, a.message)
		}
	}
	writeFile(t, record, whole)
	second := filepath.Join(out, "_"+lake.CertificateName(strings.Repeat("0", 64)))
	writeFile(t, second, whole)
	once().says(t, exitFailure, second, "remove")

	// Without the record it begins again.
	for _, path := range []string{record, second} {
		fatal.If(t, os.Remove(path))
	}
	if a := once(); a.status != 0 || len(scored(t, dir)) != 3 {
		t.Errorf("begun again: status %d, %s", a.status, a.message)
	}
}
