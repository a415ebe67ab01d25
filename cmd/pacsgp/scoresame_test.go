package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// remake makes the topic with the rows again, with so many times all rows. The group keeps
// its offsets and what stands next to them, as where brokers leave them or a tool takes them
// along.
func (s *aTopic) remake(t *testing.T, group string, times int) {
	t.Helper()
	client := own(t, s.address)
	partitions := []int{0, 1}
	at, texts, err := client.Committed(t.Context(), group, "features", partitions)
	if err != nil || at[0] != 30 || at[1] != 30 {
		t.Fatalf("the group is at %v: %v", at, err)
	}
	remake(t, s.address, "features", 2)
	s.sent = 0
	for range times {
		s.send(t)
	}
	w, err := client.NewWriter(t.Context(), "")
	fatal.If(t, err)
	for _, p := range partitions {
		// Members may still be there: there is no prompt.
		if err := w.CommitOffsets(t.Context(), &broker.Member{Generation: -1}, group, "features", map[int]int64{p: at[p]}, texts[p]); err != nil && !broker.Stale(err) {
			t.Fatal(err)
		}
	}
}

// endsBy is what score ends with when something happens between two processes or, once one is
// ready, while it runs.
func endsBy(t *testing.T, score string, running bool, ready func(r *runningService), happens func()) string {
	t.Helper()
	if !running {
		succeed(t, "score", "-c", score, "--once")
		happens()
		a := pacsgp(t, "score", "-c", score, "--once")
		if a.status != exitFailure {
			t.Errorf("status %d: %s", a.status, a.stdout)
		}
		return a.message
	}
	r := startCommand(t, "score", "-c", score)
	ready(r)
	happens()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Fatalf("it goes on: %s", r.says())
	}
	if r.err == nil {
		t.Fatal("it ends without an error")
	}
	return r.err.Error()
}

// A topic that was made again under its name, while rows are predicted or between two
// processes, is not taken for the one before, whether it has as many rows, more or fewer:
// rows would be skipped. It says what to do.
func TestScoreOfATopicMadeAgain(t *testing.T) {
	for name, of := range map[string]struct {
		directory, running bool
		times              int
	}{"to a topic": {times: 1}, "to a topic, running": {running: true, times: 3}, "to a directory, running": {directory: true, running: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			s := topicOf(t, seededTopics(t), 60, "session_timeout: 1s\n")
			score, group, output := s.score, "scorers", "topic"
			found := func() []predictedRecord { return s.found(t, "predictions") }
			if of.directory {
				group, output = "to-lake", "directory"
				score = s.toLake(t, group, "scored", "poll: 20ms\nsession_timeout: 1s\n")
				found = func() []predictedRecord { return s.foundInFiles(t, "scored") }
			}
			s.send(t)
			message := endsBy(t, score, of.running, func(*runningService) {
				client := own(t, s.address)
				for range 1000 {
					at, err := client.CommittedOffsets(t.Context(), group, "features", []int{0, 1})
					if err == nil && at[0] == 30 && at[1] == 30 {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
			}, func() { s.remake(t, group, of.times) })
			for _, part := range []string{`topic "features" is another one than`, "it was made again", "choose another group and another output " + output} {
				if !strings.Contains(message, part) {
					t.Errorf("it says %q, want %q", message, part)
				}
			}
			if n := len(found()); n != 60 {
				t.Errorf("%d predictions, want the 60 of the old rows", n)
			}
		})
	}
}

// Files say by themselves which topic they are of: another group does not go on behind
// those of a topic that was made again. Where nothing says it, as before there was a word of
// it, offsets count; and one that the topic does not have is an error that names its origin.
func TestFilesSayWhichTopic(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 60, "")
	s.send(t)
	succeed(t, "score", "-c", s.toLake(t, "first", "scored", ""), "--once")
	s.remake(t, "first", 3)
	second := s.toLake(t, "second", "scored", "")
	said := filepath.Join(s.dir, "scored", "_topic-features.json")
	pacsgp(t, "score", "-c", second, "--once").says(t, exitFailure, "than the one that "+said+" names")
	writeFile(t, said, []byte("{}"))
	pacsgp(t, "score", "-c", second, "--once").says(t, exitFailure, said+": it does not say which topic")
	fatal.If(t, os.Remove(said))
	succeed(t, "score", "-c", second, "--once")
	if n := len(s.foundInFiles(t, "scored")); n != 180 {
		t.Errorf("%d predictions, want those up to the end of the new topic", n)
	}
	fatal.If(t, os.Remove(said))
	remake(t, s.address, "features", 2)
	s.send(t)
	a := pacsgp(t, "score", "-c", s.toLake(t, "third", "scored", ""), "--once")
	for _, part := range []string{"ends at offset 30, and the next row was to be at 90", "another output directory"} {
		if a.status != exitFailure || !strings.Contains(a.message, part) {
			t.Errorf("status %d: %q, want %q", a.status, a.message, part)
		}
	}
}
