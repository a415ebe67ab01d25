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
		"above":   {"limit": "0.0001", "output": "above"},
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
	a.says(t, exitConfig, "damaged: the lake cannot be listed: ", "junk/a.parquet", "missing: run ", "failed, ", `no column "none"`, "above: run ", "above the job's limit")
	if strings.Contains(a.message, "well: ") {
		t.Errorf("it says %s", a.message)
	}
	once("missing").says(t, exitConfig)
	once("above", "damaged").says(t, exitFailure)
	once("above", "well").says(t, exitNotCertified)
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
	pacsgp(t, "-q", "schedule", "--once", "-c", schedule).says(t, exitFailure, "a: the end of its topic is not known: ", "127.0.0.1:1")
}
