package main

import (
	"path/filepath"
	"testing"

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
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "has number 2 of sequence", "tells of 1", "hint:")
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "the last look has failed: ", "has number 2", "it is looked again at")
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

// One job that was changed is told before another one is run.
func TestChangedJobStopsNoRunHalfway(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := twoJobs(t, dir)
	succeed(t, "schedule", "-c", path, "--once")
	writeFile(t, filepath.Join(dir, "second.yaml"), readFile(t, tiny(jobFile{"output": "second", "delta": "0.2"}).write(t, dir)))
	addFile(t, dir, "b", 180, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitConfig, "second is another job")
	if all := sequenceOf(t, filepath.Join(dir, "first")); len(all) != 1 {
		t.Errorf("%d certificates", len(all))
	}
}
