package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
	"github.com/pacsgp/pacsgp/pipeline"
)

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
	at := "http://" + r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`) + "/metrics"
	const want = `pacsgp_scheduled_lag_offsets{job="waves"} 180`
	said := ""
	for range 600 { // until the first look has ended
		if _, said = servingtest.Get(t, at); strings.Contains(said, want) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(said, want) {
		t.Errorf("%q is not on %s: %s", want, at, said)
	}
	r.end(t)
}
