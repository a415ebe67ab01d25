package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// What has failed is the error that schedule --once ends with, of every job, and its status,
// however quiet it is to be.
func TestScheduleOnceTellsWhatFailed(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	writeFile(t, filepath.Join(dir, "junk", "a.parquet"), []byte("junk"))
	jobs := map[string]jobFile{
		"damaged": {"source": "{paths: [junk]}", "output": "damaged"},
		"missing": {"features": "[x1, x2]", "target": "none", "output": "missing"},
		"above":   {"require": "{draw: 0.0001}", "output": "above"},
		"well":    {"output": "well"},
	}
	for name, change := range jobs {
		writeFile(t, filepath.Join(dir, name+".yaml"), readFile(t, tiny(change).write(t, dir)))
	}
	schedule := filepath.Join(dir, "schedule.yaml")
	once := func(names ...string) answer {
		t.Helper()
		fatal.If(t, os.RemoveAll(filepath.Join(dir, "schedule.db")))
		text := "record: schedule.db\njobs:\n"
		for _, name := range names {
			fatal.If(t, os.RemoveAll(filepath.Join(dir, name)))
			text += "  - {name: " + name + ", job: " + name + ".yaml, triggers: [{rows: 1}]}\n"
		}
		writeFile(t, schedule, []byte(text))
		return pacsgp(t, "-q", "schedule", "--once", "-c", schedule)
	}
	a := once("damaged", "missing", "above", "well")
	a.says(t, exitConfig, "damaged: the lake cannot be listed: ", "junk/a.parquet", "missing: run ", "failed, ", `no column "none"`, "above: run ", "above what the job requires")
	if strings.Contains(a.message, "well: ") {
		t.Errorf("it says %s", a.message)
	}
	once("missing").says(t, exitConfig)
	once("above", "damaged").says(t, exitFailure)
	once("above", "well").says(t, exitNotCertified)
}

// A job is run by hand, due or not, under its next number.
// The metrics of a round are a file for node_exporter.
func TestScheduleRun(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 24h}]")
	out := filepath.Join(dir, "out")
	succeed(t, "schedule", "-c", path, "run", "waves")
	if r := lastRun(t, out); r.Scheduled.Trigger != "by hand" || r.Scheduled.Sequence != 1 || !r.Scheduled.Current {
		t.Errorf("the run: %+v", r.Scheduled)
	}
	addFile(t, dir, "more", 200, 60)
	pacsgp(t, "schedule", "run", "tides", "-c", path).says(t, exitUsage, `"tides" is no job of`)
	pacsgp(t, "schedule", "-c", path, "--metrics", "x").says(t, exitUsage, "it belongs to --once")

	file := filepath.Join(dir, "pacsgp.prom")
	succeed(t, "schedule", "--once", "--metrics", file, "-c", path)
	text := string(readFile(t, file))
	for _, want := range []string{"\npacsgp_scheduled_failing{job=\"waves\"} 0\n", "\npacsgp_scheduled_current_timestamp_seconds{job=\"waves\"} "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the file: %s", want, text)
		}
	}
	if strings.Contains(text, "go_") || strings.Contains(text, "process_") {
		t.Errorf("node_exporter has these itself: %s", text)
	}
	// A run that fails is in the file too, and one by hand does not wait for its retry.
	writeFile(t, path, append(readFile(t, path), "    retries: 3\n    backoff: 24h\n"...))
	writeFile(t, filepath.Join(dir, "lake", "half.parquet"), []byte("PAR1"))
	for range 2 {
		pacsgp(t, "schedule", "run", "waves", "-c", path).says(t, exitFailure, "half.parquet")
	}
	if r := lastRun(t, out); r.Scheduled.Try != 2 {
		t.Errorf("try %d, want the second", r.Scheduled.Try)
	}
	succeed(t, "schedule", "--once", "--metrics", file, "-c", path) // nothing is due
	if text := string(readFile(t, file)); !strings.Contains(text, "pacsgp_scheduled_failing{job=\"waves\"} 1") {
		t.Errorf("a failure is not in the file: %s", text)
	}
}

// A scheduler that goes on says at once what has failed, as something that a quiet log has.
func TestSchedulerWarnsOfWhatFailed(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	writeFile(t, filepath.Join(dir, "job.yaml"), readFile(t, tiny(jobFile{"features": "[x1, x2]", "target": "none"}).write(t, dir)))
	schedule := filepath.Join(dir, "schedule.yaml")
	writeFile(t, schedule, []byte("record: schedule.db\npoll: 1h\njobs:\n  - {name: a, job: job.yaml, triggers: [{rows: 1}]}\n"))
	service := startCommand(t, "-q", "schedule", "-c", schedule)
	service.find(t, "(a: run 1 .*failed)")
	service.end(t)
}
