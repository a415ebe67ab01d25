package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// What has failed is the error that schedule --once ends with, of every job, and its status,
// however quiet it is to be.
func TestScheduleOnceTellsWhatFailed(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	writeFile(t, filepath.Join(dir, "junk", "a.parquet"), []byte("junk"))
	var jobs strings.Builder
	for name, change := range map[string]jobFile{
		"damaged": {"source": "{paths: [junk]}", "output": "damaged"},
		"missing": {"features": "[x1, x2]", "target": "none", "output": "missing"},
		"well":    {"output": "well"},
	} {
		path := tiny(change).write(t, filepath.Join(dir))
		writeFile(t, filepath.Join(dir, name+".yaml"), readFile(t, path))
		jobs.WriteString("  - {name: " + name + ", job: " + name + ".yaml, triggers: [{rows: 1}]}\n")
	}
	schedule := filepath.Join(dir, "schedule.yaml")
	writeFile(t, schedule, []byte("record: schedule.db\njobs:\n"+jobs.String()))
	a := pacsgp(t, "-q", "schedule", "--once", "-c", schedule)
	a.says(t, exitFailure, "damaged: the lake cannot be listed: ", "junk/a.parquet", "missing: run ", "failed, ", `no column "none"`)
	if strings.Contains(a.message, "well: ") {
		t.Errorf("it says %s", a.message)
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

// A topic of which nothing can be seen is a failure of --once too.
func TestScheduleOnceTellsThatNoBrokerAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until no broker was found, which takes seconds by design")
	}
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "job.yaml"), readFile(t, tiny(jobFile{"source": "{kafka: {brokers: ['127.0.0.1:1'], topic: rows}}", "features": "[x1, x2]"}).write(t, dir)))
	schedule := filepath.Join(dir, "schedule.yaml")
	writeFile(t, schedule, []byte("record: schedule.db\njobs:\n  - {name: a, job: job.yaml, triggers: [{lag: 1}]}\n"))
	pacsgp(t, "-q", "schedule", "--once", "-c", schedule).says(t, exitFailure, "a: how far its topic is cannot be told: ", "127.0.0.1:1")
}
