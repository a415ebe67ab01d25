package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// writeSchedule writes a schedule of one job, and returns its path.
func writeSchedule(t *testing.T, dir, job string, keys ...string) string {
	t.Helper()
	path := filepath.Join(dir, "schedule.yaml")
	text := fmt.Sprintf("jobs:\n  - name: waves\n    job: %s\n", filepath.Base(job))
	for _, k := range keys {
		text += "    " + k + "\n"
	}
	writeFile(t, path, []byte(text))
	return path
}

// A stage is a schedule of one job whose time is given.
type stage struct {
	*schedule.Scheduler
	job  *config.ScheduledTask
	said []string
	lake string
}

func onStage(t *testing.T, path string) *stage {
	t.Helper()
	w := testSystem(discard{}, discard{}, plain())
	c, jobs, err := loadSchedule(t.Context(), path, w)
	fatal.If(t, err)
	s := &stage{lake: filepath.Join(filepath.Dir(path), "lake"), job: jobs[0], Scheduler: newScheduler(w, c, jobs, newScheduleMetrics(jobs))}
	s.Poll = time.Minute
	s.Observer.Event = func(text string) { s.said = append(s.said, text) }
	s.Observer.Warning = s.Observer.Event
	return s
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// at polls at a moment, by which all files are written.
func (s *stage) at(t *testing.T, now time.Time) *pipeline.RunState {
	t.Helper()
	writtenBy(t, s.lake, now)
	run, err := s.Look(t.Context(), s.job.Job, now)
	fatal.If(t, err)
	return run
}

// addFile adds rows to the lake of dir.
func addFile(t *testing.T, dir, name string, first, rows int64) {
	t.Helper()
	fatal.If(t, smallRows(t).WriteLake(t.Context(), filepath.Join(dir, "lake", name), 1, first, rows))
}

var someDay = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// Runs, promotion by the rule and by hand, rollback, and verification of all on the last day.
func TestPromotedByTheRule(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"guarantees": "pac-bayes"}).write(t, dir)
	out := filepath.Join(dir, "out")
	path := writeSchedule(t, dir, job, "triggers: [{files: 1}]", "promote: {within: 0.000001 %}")
	succeed(t, "schedule", "-c", path, "--once")
	first := current(t, out)
	pointsToWhole(t, "the first run", out)
	addFile(t, dir, "more", 180, 180)
	succeed(t, "schedule", "-c", path, "--once")
	second := current(t, out)
	if second.ID == first.ID {
		t.Error("a model with a smaller bound is not current")
	}
	// A worse one is certified and not current: all rows of another function.
	g, err := synth.New(synth.Config{Seed: smallSeed + 1, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, "lake", "other"), 1, 0, 100))
	a := pacsgp(t, "schedule", "-c", path, "--once")
	if got := current(t, out); got.ID != second.ID {
		t.Errorf("status %d: a worse one is current: %+v", a.status, got)
	}
	var runs []listedRun
	if err := json.Unmarshal([]byte(succeed(t, "schedule", "-c", path, "--runs").stdout), &runs); err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, r := range runs {
		if r.Sequence != int64(i+1) || r.State != pipeline.StateFinished || r.Current != (i < 2) {
			t.Errorf("run %d: %+v", i, r)
		}
		c, _, err := config.ReadCertificate(t.Context(), filepath.Join(out, "certificate-"+r.Certificate+".json"))
		fatal.If(t, err)
		k := i + 1
		if share := c.Delta.Share(certify.MethodPACBayes).String(); share != fmt.Sprintf("1/%d", k*(k+1)) {
			t.Errorf("run %d has spent %s of delta", k, share)
		}
		v := pacsgp(t, "verify", filepath.Join(out, "model-"+c.Model.Digest+".parquet"), filepath.Join(out, "certificate-"+r.Certificate+".json"), filepath.Join(dir, "lake"), "--require", "draw")
		if v.status != *r.Exit || strings.Contains(v.message, "refused") {
			t.Errorf("run %d does not verify on the last day: status %d, %s", k, v.status, v.message)
		}
	}
	succeed(t, "promote", runs[1].Certificate, out, "--require", "draw") // which it is
	second = current(t, out)
	if second.ID != runs[1].Certificate || second.Bound > first.Bound {
		t.Errorf("with twice the rows the bound went from %v to %v, current is %s", first.Bound, second.Bound, second.ID)
	}
	succeed(t, "promote", first.ID[:12], out, "--require", "draw")
	if got := current(t, out); got.ID != first.ID {
		t.Errorf("after the rollback %s is current", got.ID)
	}
	// Nothing new: nothing moves.
	pacsgp(t, "schedule", "-c", path, "--once").says(t, 0, "nothing is due")
	if got := current(t, out); got.ID != first.ID {
		t.Errorf("an idle scheduler has moved the pointer to %s", got.ID)
	}
	pacsgp(t, "promote", "123456789", out).says(t, exitFailure, "there is no certificate")
	fatal.If(t, os.Remove(filepath.Join(out, sinklake.ModelName(second.Model))))
	if a := pacsgp(t, "promote", second.ID, out, "--require", "draw"); a.status != exitFailure || current(t, out).ID != first.ID {
		t.Errorf("the pointer names what is not there: status %d", a.status)
	}
}

// A scheduler that goes on says at once what has failed, as something that a quiet log has.
func TestSchedulerWarnsOfWhatFailed(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	writeFile(t, filepath.Join(dir, "job.yaml"), readFile(t, tiny(jobFile{"features": "[x1, x2]", "target": "none"}).write(t, dir)))
	schedule := filepath.Join(dir, "schedule.yaml")
	writeFile(t, schedule, []byte("poll: 1h\njobs:\n  - {name: a, job: job.yaml, triggers: [{rows: 1}]}\n"))
	service := startCommand(t, "-q", "schedule", "-c", schedule)
	service.find(t, "(a: run 1 .*failed)")
	service.end(t)
}

func current(t *testing.T, out string) *pipeline.Current {
	t.Helper()
	p, err := sinklake.NewOutput(out, nil).Current()
	fatal.If(t, err)
	return p
}

// jobOnTopic writes a job on the topic rows, with these further keys of kafka.
func jobOnTopic(t *testing.T, dir, address, kafka string) string {
	t.Helper()
	job := tiny(jobFile{"kafka": fmt.Sprintf("{brokers: [%q], %s}", address, kafka), "source": "{kafka: {topic: rows}}", "features": "[x1, in.x2]"})
	return job.write(t, dir)
}

// A job that is given another topic goes on with none, and a scheduler that is to end
// while brokers are asked records no run.
func TestScheduleOfAnotherTopic(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	address, dir := c.ListenAddrs()[0], t.TempDir()
	job := jobOnTopic(t, dir, address, "")
	path := writeSchedule(t, dir, job, "triggers: [{every: 1h}]")
	s := onStage(t, path)
	s.at(t, someDay)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if run, err := s.Look(ended, s.job.Job, someDay.Add(time.Hour)); run != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", run, err)
	}
	if run := s.at(t, someDay.Add(time.Hour)); run == nil || run.Scheduled.Number != 1 || run.State != pipeline.StateFinished {
		t.Fatalf("%+v", run)
	}
	createTopic(t, address, "others", 3)
	writeFile(t, job, []byte(strings.Replace(string(readFile(t, job)), "topic: rows", "topic: others", 1)))
	s = onStage(t, path)
	if run := s.at(t, someDay.Add(2*time.Hour)); run == nil || *run.Exit != exitConfig || !strings.Contains(run.Fault, `it is "others", and the windows before are of "rows"`) {
		t.Errorf("%+v", run)
	}
	// A topic made again under the name is refused by each process.
	writeFile(t, job, []byte(strings.Replace(string(readFile(t, job)), "topic: others", "topic: rows", 1)))
	remake(t, address, "rows", 3)
	sendRows(t, address, 0, 180)
	for hours := range 2 {
		s = onStage(t, path)
		if run := s.at(t, someDay.Add(time.Duration(3+hours)*time.Hour)); run == nil || *run.Exit != exitFailure || !strings.Contains(run.Fault, "made again") || run.Scheduled.Sequence != 0 {
			t.Errorf("made again: %+v", run)
		}
	}
}

// forget deletes what a partition of a topic has before an offset.
func forget(t *testing.T, address, name string, partition int32, before int64) {
	t.Helper()
	r, topic, part := kmsg.NewPtrDeleteRecordsRequest(), kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Partition, part.Offset = partition, before
	topic.Topic, topic.Partitions = name, append(topic.Partitions, part)
	r.Topics, r.TimeoutMillis = append(r.Topics, topic), 60_000
	if answer, err := r.RequestWith(t.Context(), foreign(t, address)); err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("%+v: %v", answer, err)
	}
}

// A service tells the lag of each job on a topic.
func TestLagIsServed(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	dir := t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, c.ListenAddrs()[0], ""), "triggers: [{every: 1h}]")
	writeFile(t, path, append(readFile(t, path), "serve: {listen: '127.0.0.1:0'}\n"...))
	r := startCommand(t, "schedule", "-c", path)
	at := "http://" + r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	answers(t, at+"/metrics", http.StatusOK, `pacsgp_scheduled_lag_offsets{job="waves"} 180`) // after the first look
	r.end(t)
}
