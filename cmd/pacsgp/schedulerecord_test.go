package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// However many runs come behind it, the run that a job began last keeps its files: they are
// the order of the next sample.
func TestFilesOfTheRunThatBeganLastStay(t *testing.T) {
	record, err := openRecord(filepath.Join(t.TempDir(), "record"))
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	long := strings.Repeat("name/", 100)
	known, err := record.job(long)
	if err != nil {
		t.Fatal(err)
	}
	files := []pipeline.ManifestFile{{Path: "b"}, {Path: "a"}}
	if err := record.save(long, known, &scheduledRun{State: pipeline.StateRunning, Files: files}, files); err != nil {
		t.Fatal(err)
	}
	for range mostRuns + 20 {
		if err := record.save(long, known, &scheduledRun{State: stateNothing}, nil); err != nil {
			t.Fatal(err)
		}
	}
	again, err := record.job(long)
	if err != nil || len(again.Files) != 2 || again.Files[0].Path != "b" || again.Files[1].Path != "a" {
		t.Errorf("the files are %+v, %v", again, err)
	}
	all, err := record.runs()
	if err != nil || len(all) != mostRuns+2 || all[0].Number != 1 || all[1].Number != 21 || all[len(all)-1].Number != mostRuns+21 {
		t.Errorf("%d runs, %v", len(all), err)
	}
	if err := os.Remove(record.runFileOf(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := record.job(long); err == nil || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("without the run that began last: %v", err)
	}
}
