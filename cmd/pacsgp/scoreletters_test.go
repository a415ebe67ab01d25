package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
)

// unscored are records without a prediction.
var unscored = []string{"no row", `{"x1": 1, "id": "text"}`, `{"x1": 1e31, "x2": 1}`}

// lettersOn are the letters that readers of committed records see: key, value and headers.
func (s *aTopic) lettersOn(t *testing.T, topic string) (all []string) {
	t.Helper()
	for _, r := range committedRecords(t, s.address, topic) {
		text := fmt.Sprintf("%s %s", r.Key, r.Value)
		for _, h := range r.Headers {
			if h.Key != "pacsgp.timestamp" {
				text += fmt.Sprintf(" %s=%s", strings.TrimPrefix(h.Key, "pacsgp."), h.Value)
			}
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// lettered is a score file with letters to the topic NAME-dead, and its predictions: they go to a
// topic, or to files.
func (s *aTopic) lettered(t *testing.T, name string, files bool) (score string, found func() []predictedRecord) {
	t.Helper()
	createTopic(t, s.address, name+"-dead", 2)
	options := fmt.Sprintf("bad_rows: {to: {kafka: %s-dead}}\nsession_timeout: 1s\n", name)
	if files {
		return s.toLake(t, name, name, options), func() []predictedRecord { return s.foundInFiles(t, name) }
	}
	createTopic(t, s.address, name, 2)
	return s.file(t, name, name, "exactly_once: true\n"+options), func() []predictedRecord { return s.found(t, name) }
}

// Records of rows without a prediction are sent to the topic of dead letters as jobs send them,
// once, and have their place among the predictions all the same.
func TestScoreLetters(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 60, "")
	s.send(t, unscored...)
	for name, files := range map[string]bool{"to-topic": false, "to-lake": true} {
		score, found := s.lettered(t, name, files)
		for range 2 {
			succeed(t, "score", "-c", score, "--once")
			s.agree(t, found())
			letters := s.lettersOn(t, name+"-dead")
			for i := range letters { // a record without a partition of its own may be in any
				before, after, _ := strings.Cut(letters[i], " partition=")
				_, reason, _ := strings.Cut(after, " reason=")
				letters[i] = before + " " + reason
			}
			want := []string{
				"more no row topic=features it is no JSON object",
				`more {"x1": 1, "id": "text"} topic=features row 0 of the record: x2 is null`,
				`more {"x1": 1e31, "x2": 1} topic=features row 0 of the record: x1 is beyond 1e30 in magnitude`,
			}
			if diff := cmp.Diff(want, letters); diff != "" {
				t.Errorf("%s: letters (-want +got):\n%s", name, diff)
			}
		}
	}
	missing := s.file(t, "predictions", "others", "bad_rows: {to: {kafka: nowhere}}\n")
	pacsgp(t, "score", "-c", missing, "--once").says(t, exitFailure, `"nowhere"`)
}

// Killed at requests to a real broker, and at random moments, and started again, score sends each
// letter once, and each prediction.
func TestScoreLettersKilled(t *testing.T) {
	t.Parallel()
	_, gate := apache.Lend(t)
	gate.Tell(func(int16) {})
	s := topicOf(t, gate.Address, 40, "")
	s.send(t, unscored...)
	s.send(t, unscored...)
	rng := rand.New(rand.NewPCG(3, 9))
	for name, files := range map[string]bool{"to-topic": false, "to-lake": true} {
		score, found := s.lettered(t, name, files)
		requests := countRequests(gate, func() { succeed(t, "score", "-c", score, "--once") })
		s.agree(t, found())
		want := s.lettersOn(t, name+"-dead")
		if len(want) != 2*len(unscored) {
			t.Fatalf("%s: letters %q", name, want)
		}
		kills := max(2, requests/5)
		if testing.Short() {
			kills = 2
		}
		for round, at := range some(requests, kills) {
			name := fmt.Sprintf("%s-killed%d", name, at)
			score, found := s.lettered(t, name, files)
			killScore(t, gate, score, at, round%2 > 0, rng)
			succeed(t, "score", "-c", score, "--once")
			s.agree(t, found())
			if diff := cmp.Diff(want, s.lettersOn(t, name+"-dead")); diff != "" || t.Failed() {
				t.Fatalf("%s: killed at request %d of %d: letters (-want +got):\n%s", name, at, requests, diff)
			}
		}
	}
}

// countRequests counts the requests to a broker during a run.
func countRequests(gate *brokertest.Gate, run func()) int {
	var seen atomic.Int32
	gate.Tell(func(int16) { seen.Add(1) })
	defer gate.Tell(func(int16) {})
	run()
	return int(seen.Load())
}
