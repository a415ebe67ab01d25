package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// copyOf copies a record.
func copyOf(t *testing.T, record string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	fatal.If(t, os.CopyFS(to, os.DirFS(record)))
	return to
}

// putBack puts a copy in the place of a record.
func putBack(t *testing.T, from, record string) {
	t.Helper()
	fatal.If(t, errors.Join(os.RemoveAll(record), os.CopyFS(record, os.DirFS(from))))
}

// Where the output has certificates that neither it nor the record knows of, none of their
// numbers is free.
func TestCertificatesOfNoRecord(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	record, list := filepath.Join(dir, "schedule.db"), filepath.Join(dir, "out", sinklake.SequencesFile)
	succeed(t, "schedule", "-c", path, "--once")
	older, olderList := copyOf(t, record), readFile(t, list)
	addFile(t, dir, "b", 180, 60)
	succeed(t, "schedule", "-c", path, "--once")
	putBack(t, older, record)
	writeFile(t, list, olderList)
	addFile(t, dir, "c", 240, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "has number 2 of sequence", "tells of 1", "hint:")
	// What cannot go on is no success when it is asked again.
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "the last look has failed: ", "has number 2", "it is looked again at")
	writeFile(t, list, olderList[:len(olderList)/2])
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, sinklake.SequencesFile, "restore it from a copy")
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
