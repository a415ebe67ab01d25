package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// earlyJob is a stream that trains before its windows of 300 rows are full.
func earlyJob(t *testing.T, address, dir string, change jobFile) string {
	t.Helper()
	job := jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": "{kafka: {topic: rows, group: trainers, rows: 300, spool: {limit: 10MB, keep: true}}}",
		"roles": "{by: first, reference: 40}", "train": "{mode: arrival, passes: 3, batch: 60}", "delta_policy": "each",
	}
	maps.Copy(job, change)
	return serviceJob(t, address, dir, job)
}

// awaitFile waits until there is a file of this form.
func awaitFile(t *testing.T, pattern string, r *runningService) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return
		}
	}
	t.Fatalf("there is no %s: %s", pattern, r.says())
}

// TestServiceTrainsEarly: a stream trains while a window is open. Stopped there and started
// again it gives the model that a job gives on the spool, which makes all steps when all
// rows are there; and training again from the topic gives it too.
func TestServiceTrainsEarly(t *testing.T) {
	t.Parallel()
	c := smallTopic(t) // 180 rows
	address := c.ListenAddrs()[0]
	dir := t.TempDir()
	job := earlyJob(t, address, dir, nil)
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	awaitFile(t, filepath.Join(dir, "out", openWindow+"*", "checkpoint-*"), r)
	r.end(t)
	fillTopic(t, address, 180) // 360: a window, and 60 rows
	r = startService(t, "-c", job, "--workers", "1")
	made := awaitCertificates(t, address, 1, r)[0]
	awaitFile(t, filepath.Join(dir, "out", doneWindow+"*"), r)
	r.end(t)
	if !strings.Contains(r.says(), "resumed from the checkpoint after") {
		t.Errorf("the run does not go on from the steps that were made before: %s", r.says())
	}
	folder := filepath.Join(dir, "out", doneWindow+windowNumber(1))
	elsewhere := t.TempDir()
	fatal.If(t, os.Rename(filepath.Join(folder, "spool"), filepath.Join(elsewhere, "spooled")))
	batch := tiny(jobFile{
		"source": "{paths: [spooled]}", "features": "[x1, in.x2]", "output": "batch",
		"roles": "{by: first, reference: 40}", "train": "{mode: arrival, rows: 300, passes: 3, batch: 60}",
	}).write(t, elsewhere)
	succeed(t, "train", "-c", batch)
	if got := record(t, filepath.Join(elsewhere, "batch")).Model; !strings.Contains(got, made.Model.Digest) {
		t.Errorf("trained when all rows are there, the model is %s, not %s", got, made.Model.Digest)
	}
	if made.Declared.Training.Ancestor != nil {
		t.Errorf("the first window begins with %+v", made.Declared.Training.Ancestor)
	}
	newest := record(t, folder)
	pacsgp(t, "verify", filepath.Join(folder, newest.Model), filepath.Join(folder, newest.Certificate), "--source", job, "--retrain", "--judge", "draw").says(t, 0, "were read again from the log", "trained again from the configuration")
}
