package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What only looks makes nothing: no record, and no folder.
func TestLookingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	succeed(t, "schedule", "-c", path, "--runs")
	pacsgp(t, "promote", "4978aaaaaaaaaaaa", filepath.Join(dir, "nowhere")).says(t, exitFailure)
	for _, name := range []string{"schedule.db", "nowhere"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	writeFile(t, filepath.Join(dir, "schedule.db"), []byte("no record"))
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "a record is a folder now")
}

// Training by hand into the output of a schedule is told to be none of its sequence.
func TestTrainIntoTheOutputOfASchedule(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	succeed(t, "schedule", "-c", writeSchedule(t, dir, job, "triggers: [{files: 1}]"), "--once")
	addFile(t, dir, "b", 180, 60)
	if log := succeed(t, "train", "-c", job).log; !strings.Contains(log, "is the output of a schedule") {
		t.Errorf("it says %s", log)
	}
}
