package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
	"github.com/pacsgp/pacsgp/pipeline"
)

// jobOnTopic writes a job on the topic rows, with these further keys of kafka.
func jobOnTopic(t *testing.T, dir, address, kafka string) string {
	t.Helper()
	job := tiny(jobFile{"kafka": fmt.Sprintf("{brokers: [%q], %s}", address, kafka), "source": "{kafka: {topic: rows}}", "features": "[x1, in.x2]"})
	return job.write(t, dir)
}

// A contender is an artifact of an output.
type contender struct {
	pipeline.ArtifactRef
	certificate certify.Certificate
}

// sequenceOf are the certificates of an output by their numbers.
func sequenceOf(t *testing.T, out string) map[int64]contender {
	t.Helper()
	all := map[int64]contender{}
	files, err := filepath.Glob(filepath.Join(out, "certificate-*.json"))
	fatal.If(t, err)
	for _, path := range files {
		c, id, err := config.ReadCertificate(t.Context(), path)
		fatal.If(t, err)
		k := c.Delta.Sequence.Number
		if _, twice := all[k]; twice {
			t.Errorf("two certificates have the number %d", k)
		}
		all[k] = contender{pipeline.ArtifactRef{ID: id, Model: c.Model.Digest}, c}
	}
	return all
}

// follow demands that the segments of the certificates, in the order of their numbers, add up
// to the topic without a gap.
func follow(t *testing.T, all map[int64]contender) {
	t.Helper()
	ends := map[int64]int64{}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		for _, g := range all[k].certificate.Sample.Segments {
			if g.First != ends[g.Partition] {
				t.Errorf("certificate %d: the segment %+v does not begin at %d", k, g, ends[g.Partition])
			}
			ends[g.Partition] = g.End
		}
	}
}

// verifyAll verifies the certificates of an output against the topic as it is now.
func verifyAll(t *testing.T, out, job string) {
	t.Helper()
	for k, c := range sequenceOf(t, out) {
		a := pacsgp(t, "verify", filepath.Join(out, "model-"+c.Model+".parquet"), filepath.Join(out, "certificate-"+c.ID+".json"), "--source", job, "--judge", "draw")
		a.says(t, 0, "were read again from the log", "verified: ")
		if share := c.certificate.Delta.Share(certify.MethodPACBayes).String(); share != fmt.Sprintf("1/%d", k*(k+1)) {
			t.Errorf("number %d has spent %s of delta", k, share)
		}
	}
}

// A job that is given another topic goes on with none, and a scheduler that is told to end
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
	fatal.If(t, s.record.Close())
	createTopic(t, address, "others", 3)
	writeFile(t, job, []byte(strings.Replace(string(readFile(t, job)), "topic: rows", "topic: others", 1)))
	s = onStage(t, path)
	if run := s.at(t, someDay.Add(2*time.Hour)); run == nil || *run.Exit != exitConfig || !strings.Contains(run.Fault, `it is "others", and the windows before are of "rows"`) {
		t.Errorf("%+v", run)
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
		if _, said = servingtest.Get(t, http.DefaultClient, at); strings.Contains(said, want) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(said, want) {
		t.Errorf("%q is not on %s: %s", want, at, said)
	}
	r.end(t)
}
