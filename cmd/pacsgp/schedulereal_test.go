package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// TestScheduleOnApacheKafka: windows by the lag of a topic of a real broker, with records of
// transactions, one of them aborted; the broker is away for a while; all certificates verify
// from the topic; then offsets that the next window was to begin at are gone, and then the
// topic is another one.
func TestScheduleOnApacheKafka(t *testing.T) {
	t.Parallel()
	b, _ := apache.Lend(t)
	createTopic(t, b.Address, "rows", 3)
	dir := t.TempDir()
	job := jobOnTopic(t, dir, b.Address, "patience: 3m")
	s := onStage(t, writeSchedule(t, dir, job, "triggers: [{lag: 180}]"))
	out := filepath.Join(dir, "out")
	finished := func(now time.Time, number, rows int64) *pipeline.RunState {
		t.Helper()
		run := s.at(t, now)
		if run == nil || run.State != pipeline.StateFinished || run.Scheduled.Sequence != number {
			t.Fatalf("window %d: %+v; %q", number, run, s.said)
		}
		if got := sequenceOf(t, out)[number].certificate.Sample.Rows; got != rows {
			t.Errorf("window %d has %d rows, want %d", number, got, rows)
		}
		return run
	}
	now := someDay
	if run := s.at(t, now); run != nil {
		t.Fatalf("of an empty topic: %+v", run)
	}
	sendRows(t, b.Address, 0, 180)
	finished(now, 1, 180)

	// 150 rows of a transaction, 27 of one that is aborted, and a marker in each of the three
	// partitions behind either: 183 offsets.
	p := foreign(t, b.Address, kgo.TransactionalID("rows"))
	for end, n := range map[kgo.TransactionEndTry]int64{kgo.TryCommit: 150, kgo.TryAbort: 27} {
		fatal.If(t, p.BeginTransaction())
		fatal.If(t, p.ProduceSync(t.Context(), recordsOf(t, "rows", 180, n)...).FirstErr())
		fatal.If(t, p.EndTransaction(t.Context(), end))
	}
	now = now.Add(time.Hour)
	var run *pipeline.RunState
	for range 600 { // until the markers are written in all partitions
		if at, err := s.job.Output.Sequence("waves"); err != nil {
			t.Fatal(err)
		} else if w, err := s.job.Topic.Next(t.Context(), at.Topic, 0); err != nil {
			t.Fatal(err)
		} else if w.Offsets() == 183 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if run = finished(now, 2, 150); run.Scheduled.Window.Offsets() != 183 {
		t.Errorf("the second window has %d offsets, want 183", run.Scheduled.Window.Offsets())
	}

	sendRows(t, b.Address, 400, 180)
	b.Kill(t)
	now = now.Add(time.Hour)
	if run := s.at(t, now); run != nil || !strings.Contains(strings.Join(s.said, "\n"), "the end of its topic is not known") {
		t.Fatalf("without a broker: %+v; %q", run, s.said)
	}
	b.Run(t)
	for range 600 { // until the broker knows its topics again
		if run = s.at(t, now); run != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if run == nil || run.State != pipeline.StateFinished || run.Scheduled.Sequence != 3 {
		t.Fatalf("the broker is back: %+v; %q", run, s.said)
	}
	follow(t, sequenceOf(t, out))
	verifyAll(t, out, job)

	sendRows(t, b.Address, 600, 180)
	end := run.Scheduled.Window.Partitions[0].End
	forget(t, b.Address, "rows", 0, end+1)
	now = now.Add(time.Hour)
	if run := s.at(t, now); run == nil || run.State != pipeline.StateFailed || !strings.Contains(run.Fault, "are gone") {
		t.Errorf("of offsets that are gone: %+v", run)
	}
	remake(t, b.Address, "rows", 3)
	sendRows(t, b.Address, 0, 900)
	if run := s.at(t, now.Add(2*time.Hour)); run == nil || run.State != pipeline.StateFailed || !strings.Contains(run.Fault, "another one than") {
		t.Errorf("of a topic that was made anew: %+v", run)
	}
	if all := sequenceOf(t, out); len(all) != 3 {
		t.Errorf("%d certificates, want 3", len(all))
	}
}
