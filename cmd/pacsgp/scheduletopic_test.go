package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// jobOnTopic writes a job on the topic rows, with these further keys of source.kafka.
func jobOnTopic(t *testing.T, dir, address, kafka string, change jobFile) string {
	t.Helper()
	job := tiny(jobFile{"source": fmt.Sprintf("{kafka: {brokers: [%q], topic: rows, %s}}", address, kafka), "features": "[x1, in.x2]"})
	maps.Copy(job, change)
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
// to the topic without a gap, and returns where they end.
func follow(t *testing.T, all map[int64]contender) map[int64]int64 {
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
	return ends
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

// The lag triggers at exactly so many offsets, and the windows follow one another: their
// segments add up to the topic, their numbers are 1, 2, 3, and all verify on the last day.
func TestLagOfATopic(t *testing.T) {
	c := smallTopic(t) // 180 rows
	address, dir := c.ListenAddrs()[0], t.TempDir()
	job := jobOnTopic(t, dir, address, "", nil)
	path := writeSchedule(t, dir, job, "triggers: [{lag: 181}]")
	out := filepath.Join(dir, "out")
	s := onStage(t, path)
	sent := int64(180)
	for i := range 3 {
		now := someDay.Add(time.Duration(i) * time.Hour)
		if run := s.at(t, now); run != nil {
			t.Fatalf("window %d: it runs with a lag of 180: %+v", i+1, run)
		}
		sendRows(t, address, sent, 1)
		sent++
		run := s.at(t, now.Add(time.Minute))
		if run == nil || run.State != pipeline.StateFinished || run.Scheduled.Trigger != "lag 181" || run.Scheduled.Sequence != int64(i+1) || !run.Scheduled.Current || run.Scheduled.Window.Offsets() != 181 {
			t.Fatalf("window %d: %+v; %q", i+1, run, s.said)
		}
		if run := s.at(t, now.Add(2*time.Minute)); run != nil {
			t.Fatalf("window %d: it runs again: %+v", i+1, run)
		}
		sendRows(t, address, sent, 180)
		sent += 180
	}
	if ends := follow(t, sequenceOf(t, out)); ends[0]+ends[1]+ends[2] != 3*181 {
		t.Errorf("the windows end at %v, want 543 offsets", ends)
	}
	verifyAll(t, out, job)
	var runs []listedRun
	if err := json.Unmarshal([]byte(succeed(t, "schedule", "-c", path, "--runs").stdout), &runs); err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	begin := map[int]int64{}
	for _, r := range runs {
		for _, part := range r.Window.Partitions {
			if part.First != begin[part.Partition] {
				t.Errorf("run %d: %+v does not begin at %d", r.Number, part, begin[part.Partition])
			}
			begin[part.Partition] = part.End
		}
		if r.Window.Topic != "rows" || r.Window.Identity == (pipeline.TopicIdentity{}) || len(r.Files) != 0 {
			t.Errorf("run %d: %+v", r.Number, r.Window)
		}
	}
	if left := names(t, out); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, "_spool-") }) {
		t.Errorf("spools are left in %q", left)
	}
}

// A window whose run fails is tried again as it is, under its number; when it is not tried
// again, the next window begins behind it. One without a row passes in the same way.
func TestFailedWindow(t *testing.T) {
	c := smallTopic(t)
	address, dir := c.ListenAddrs()[0], t.TempDir()
	s := onStage(t, writeSchedule(t, dir, jobOnTopic(t, dir, address, "tombstones: skip", nil), "triggers: [{lag: 1}]", "retries: 1", "backoff: 1m"))
	p, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic("rows"))
	fatal.If(t, err)
	defer p.Close()
	fatal.If(t, p.ProduceSync(t.Context(), &kgo.Record{Value: []byte(`{"x1":null,"in":{"x2":1},"y":1}`)}).FirstErr())
	spools := func() int {
		left, err := filepath.Glob(filepath.Join(dir, "out", "_spool-*"))
		fatal.If(t, err)
		return len(left)
	}
	first := s.at(t, someDay)
	if n := spools(); n != 1 {
		t.Errorf("%d spools to go on with", n)
	}
	sendRows(t, address, 180, 90)
	second := s.at(t, someDay.Add(10*time.Minute))
	if first.State != pipeline.StateFailed || second.State != pipeline.StateFailed || second.Scheduled.Try != 2 || first.Scheduled.Sequence != 1 || second.Scheduled.Sequence != 1 || !cmp.Equal(second.Scheduled.Window, first.Scheduled.Window) {
		t.Fatalf("%+v and %+v", first, second)
	}
	if n := spools(); n != 0 {
		t.Errorf("%d spools of a window that nobody goes on with", n)
	}
	third := s.at(t, someDay.Add(time.Hour))
	if third.State != pipeline.StateFinished || third.Scheduled.Sequence != 2 || third.Scheduled.Window.Offsets() != 90 || third.Scheduled.Window.Partitions[2].First != 60 {
		t.Fatalf("%+v", third)
	}
	fatal.If(t, p.ProduceSync(t.Context(), &kgo.Record{Partition: 1}).FirstErr())
	if run := s.at(t, someDay.Add(2*time.Hour)); run.State != pipeline.StateNothing || run.Scheduled.Sequence != 3 || !strings.Contains(run.Scheduled.Why, "there is no row") {
		t.Fatalf("%+v", run)
	}
	sendRows(t, address, 270, 60)
	if run := s.at(t, someDay.Add(3*time.Hour)); run.State != pipeline.StateFinished || run.Scheduled.Sequence != 4 || run.Scheduled.Window.Offsets() != 60 || run.Scheduled.Window.Partitions[1].First != 91 {
		t.Fatalf("%+v", run)
	}
	if n := spools(); n != 0 {
		t.Errorf("%d spools are left", n)
	}
}

// Windows are not made of another topic of the same name, nor is a window that was frozen
// before filled from it.
func TestScheduleOfATopicMadeAnew(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		c := smallTopic(t)
		address, dir := c.ListenAddrs()[0], t.TempDir()
		s := onStage(t, writeSchedule(t, dir, jobOnTopic(t, dir, address, "", nil), "triggers: [{lag: 100}]"))
		if frozen {
			ctx, cancel := context.WithCancel(t.Context())
			trains := s.Train
			s.Train = func(context.Context, *schedule.Job, pipeline.Job, pipeline.Rows, pipeline.RunConfig) (*pipeline.Outcome, error) {
				cancel()
				return nil, errDies
			}
			if _, err := s.Look(ctx, s.job.Job, someDay); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			s.Train = trains
		} else if run := s.at(t, someDay); run.State != pipeline.StateFinished {
			t.Fatalf("%+v", run)
		}
		client, err := broker.NewClient(broker.Config{Brokers: []string{address}})
		fatal.If(t, err)
		remake(t, client, address, "rows", 3)
		fatal.If(t, client.Close())
		sendRows(t, address, 1000, 540)
		now := someDay.Add(time.Hour)
		for range 2 {
			run := s.at(t, now)
			if run == nil || run.State != pipeline.StateFailed || !strings.Contains(run.Fault, "another one than") || !strings.Contains(run.Fault, "made anew") {
				t.Fatalf("frozen %v: %+v", frozen, run)
			}
			now = now.Add(time.Hour)
		}
		if n := len(sequenceOf(t, filepath.Join(dir, "out"))); n != map[bool]int{false: 1, true: 0}[frozen] {
			t.Errorf("frozen %v: %d certificates", frozen, n)
		}
	}
}

// A job that is given another topic goes on with none, and a scheduler that is told to end
// while brokers are asked records no run.
func TestScheduleOfAnotherTopic(t *testing.T) {
	c := smallTopic(t)
	address, dir := c.ListenAddrs()[0], t.TempDir()
	job := jobOnTopic(t, dir, address, "", nil)
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

// A window that was to begin at offsets that are gone is refused, and not at every look.
func TestScheduleBehindRetention(t *testing.T) {
	c := smallTopic(t)
	address, dir := c.ListenAddrs()[0], t.TempDir()
	s := onStage(t, writeSchedule(t, dir, jobOnTopic(t, dir, address, "", nil), "triggers: [{lag: 100}]"))
	if run := s.at(t, someDay); run.State != pipeline.StateFinished {
		t.Fatalf("%+v", run)
	}
	sendRows(t, address, 180, 180)
	forget(t, address, 1, 61) // the first one of the next window
	runs := 0
	for minute := range 60 {
		run := s.at(t, someDay.Add(time.Duration(minute+1)*time.Minute))
		if run == nil {
			continue
		}
		if runs++; run.State != pipeline.StateFailed || run.Scheduled.Sequence != 0 || !strings.Contains(run.Fault, "partition 1: the offsets 60 to 60 are gone") || !strings.Contains(run.Fault, "another name") {
			t.Fatalf("%+v", run)
		}
	}
	if runs == 0 || runs > 6 {
		t.Errorf("%d runs in an hour", runs)
	}
}

// forget deletes what a partition of rows has before an offset.
func forget(t *testing.T, address string, partition int32, before int64) {
	t.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(address))
	fatal.If(t, err)
	defer admin.Close()
	r, topic, part := kmsg.NewPtrDeleteRecordsRequest(), kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Partition, part.Offset = partition, before
	topic.Topic, topic.Partitions = "rows", append(topic.Partitions, part)
	r.Topics, r.TimeoutMillis = append(r.Topics, topic), 60_000
	if answer, err := r.RequestWith(t.Context(), admin); err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("%+v: %v", answer, err)
	}
}

// Where the first window begins: at the latest offset it is that of the first look; behind
// the certificates of the name where the record is a new one. A partition that is new begins
// at its earliest offset.
func TestBeginOfTheFirstWindow(t *testing.T) {
	c := smallTopic(t)
	address, dir := c.ListenAddrs()[0], t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "from: latest", nil), "triggers: [{lag: 60}]")
	succeed(t, "schedule", "-c", path, "--once")
	sendRows(t, address, 180, 60)
	succeed(t, "schedule", "-c", path, "--once")
	out := filepath.Join(dir, "out")
	if all := sequenceOf(t, out); len(all) != 1 || all[1].certificate.Sample.Rows != 60 || all[1].certificate.Sample.Segments[0].First != 60 {
		t.Fatalf("%d certificates, %+v", len(all), all[1].certificate.Sample)
	}
	writeFile(t, filepath.Join(dir, "schedule.yaml"), []byte(strings.Replace(string(readFile(t, path)), "schedule.db", "other.db", 1)))
	admin, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	fatal.If(t, err)
	defer admin.Close()
	r, topic := kmsg.NewPtrCreatePartitionsRequest(), kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "rows", 4
	r.Topics, r.TimeoutMillis = append(r.Topics, topic), 60_000
	if answer, err := r.RequestWith(t.Context(), admin); err != nil || answer.Topics[0].ErrorCode != 0 {
		t.Fatalf("%+v: %v", answer, err)
	}
	sendRows(t, address, 240, 59)
	fatal.If(t, admin.ProduceSync(t.Context(), &kgo.Record{Topic: "rows", Partition: 3, Value: []byte(`{"x1":0.25,"in":{"x2":0.5},"y":0.125}`)}).FirstErr())
	succeed(t, "schedule", "-c", path, "--once")
	all := sequenceOf(t, out)
	if g := all[2].certificate.Sample.Segments; len(all) != 2 || len(g) != 4 || g[0].First != 80 || g[3] != (certify.Segment{Topic: "rows", Partition: 3, First: 0, End: 1, Rows: 1}) {
		t.Errorf("%d certificates, %+v", len(all), g)
	}
}

// A number belongs to the window and to how its records are read.
func TestNumberOfAWindow(t *testing.T) {
	topic := func(kafka string) schedule.Topic {
		job := jobOnTopic(t, t.TempDir(), "127.0.0.1:1", kafka, nil)
		_, jobs, err := loadSchedule(t.Context(), writeSchedule(t, filepath.Dir(job), job, "triggers: [{lag: 1}]"), testSystem(discard{}, discard{}, plain(), nil))
		fatal.If(t, err)
		return jobs[0].Topic
	}
	w := pipeline.TopicWindow{Topic: "rows", Partitions: []pipeline.WindowPart{{End: 60}}}
	own := topic("").Digest(w)
	if again := topic("patience: 2m").Digest(w); again != own {
		t.Errorf("the same window has %s and %s", own, again)
	}
	further, anew := w, w
	further.Partitions, anew.Identity.Topic = []pipeline.WindowPart{{End: 61}}, "another"
	for what, other := range map[string]string{
		"tombstones": topic("tombstones: skip").Digest(w), "end": topic("").Digest(further), "topic": topic("").Digest(anew),
	} {
		if other == own {
			t.Errorf("%s: another window has the same digest", what)
		}
	}
}

// A service tells the lag of each job on a topic.
func TestLagIsServed(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, c.ListenAddrs()[0], "", nil), "triggers: [{every: 1h}]")
	writeFile(t, path, append(readFile(t, path), "serve: {listen: '127.0.0.1:0'}\n"...))
	r := startCommand(t, "schedule", "-c", path)
	at := "http://" + r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	for path, want := range map[string]string{"/metrics": `pacsgp_scheduled_lag_offsets{job="waves"} 180`, "/live": "180 offsets"} {
		said := ""
		for range 600 { // until the first look has ended
			if _, said = servingtest.Get(t, http.DefaultClient, at+path); strings.Contains(said, want) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if !strings.Contains(said, want) {
			t.Errorf("%q is not on %s: %s", want, path, said)
		}
	}
	r.end(t)
}
