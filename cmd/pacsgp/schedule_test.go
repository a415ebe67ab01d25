package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/cmd/config"
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

var someDay = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

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
