package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A list of numbers that is older than the certificates gives none, and what cannot go on is no
// success when it is asked again.
func TestCertificatesOfNoRecord(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path, list := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]"), filepath.Join(dir, "out", sinklake.SequencesFile)
	succeed(t, "schedule", "-c", path, "--once")
	older := readFile(t, list)
	addFile(t, dir, "b", 180, 60)
	succeed(t, "schedule", "-c", path, "--once")
	writeFile(t, list, older)
	addFile(t, dir, "c", 240, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "has number 2 of sequence", "its list of numbers ends at 1", "hint:")
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "the last look has failed: ", "has number 2", "the next one is at")
}

// twoJobs writes a schedule of two jobs, first and second, on the lake of dir.
func twoJobs(t *testing.T, dir string) string {
	t.Helper()
	jobs := "jobs:\n"
	for _, name := range []string{"first", "second"} {
		writeFile(t, filepath.Join(dir, name+".yaml"), readFile(t, tiny(jobFile{"output": name}).write(t, dir)))
		jobs += "  - {name: " + name + ", job: " + name + ".yaml, triggers: [{files: 1}]}\n"
	}
	path := filepath.Join(dir, "schedule.yaml")
	writeFile(t, path, []byte("record: schedule.db\n"+jobs))
	return path
}

// A job that was changed does not run, and the other one does.
func TestChangedJobStopsItselfAlone(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := twoJobs(t, dir)
	succeed(t, "schedule", "-c", path, "--once")
	writeFile(t, filepath.Join(dir, "second.yaml"), readFile(t, tiny(jobFile{"output": "second", "delta": "0.2"}).write(t, dir)))
	addFile(t, dir, "b", 180, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitConfig, "second is another job")
	for name, want := range map[string]int{"first": 2, "second": 1} {
		if all := sequenceOf(t, filepath.Join(dir, name)); len(all) != want {
			t.Errorf("%s: %d certificates, want %d", name, len(all), want)
		}
	}
}

// With a horizon of 2 there are two certificates, each with half of delta, and no third one.
func TestHorizonOfASchedule(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"horizon": "2"}).write(t, dir)
	pacsgp(t, "train", "-c", job).says(t, exitConfig, "horizon: it is of a job that makes one certificate after another")
	path := writeSchedule(t, dir, job, "triggers: [{files: 1}]")
	succeed(t, "schedule", "-c", path, "--once")
	addFile(t, dir, "b", 180, 60)
	succeed(t, "schedule", "-c", path, "--once")
	p, err := sinklake.ReadPointer(nil, filepath.Join(dir, "out"))
	fatal.If(t, err)
	artifact := []string{filepath.Join(dir, "out", sinklake.ModelName(p.Model)), filepath.Join(dir, "out", sinklake.CertificateName(p.ID)), filepath.Join(dir, "lake")}
	succeed(t, append([]string{"verify"}, artifact...)...)
	if c := readFile(t, artifact[1]); !strings.Contains(string(c), "number 2 of a sequence of certificates that hold all at once, at most 2: it has spent delta/2.") {
		t.Errorf("the certificate: %s", c)
	}
	addFile(t, dir, "c", 240, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitConfig, "all 2 certificates of the sequence have been made")
}
