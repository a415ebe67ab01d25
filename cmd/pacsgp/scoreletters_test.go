package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// unscored are records without a prediction.
var unscored = []string{"no row", `{"x1": 1, "id": "text"}`, `{"x1": 1e31, "x2": 1}`}

// deadLettersOn are the dead letters that readers of committed records see: key, value and headers.
func (s *aTopic) deadLettersOn(t *testing.T, topic string) (all []string) {
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

// lettered is a score file with dead letters to the topic NAME-dead, and its predictions: they go to a
// topic, or to files.
func (s *aTopic) lettered(t *testing.T, name string, files bool) (score string, found func() []predictedRecord) {
	t.Helper()
	createTopic(t, s.address, name+"-dead", 2)
	options := fmt.Sprintf("rejected: {to: {kafka: %s-dead}}\nsession_timeout: 1s\n", name)
	if files {
		return s.toLake(t, name, name, options), func() []predictedRecord { return s.foundInFiles(t, name) }
	}
	createTopic(t, s.address, name, 2)
	return s.file(t, name, name, options), func() []predictedRecord { return s.found(t, name) }
}

// Records of rows without a prediction are sent to the topic of dead letters as jobs send them,
// once, and are listed among the predictions all the same.
func TestScoreDeadLetters(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 60, "")
	s.send(t, unscored...)
	for name, files := range map[string]bool{"to-topic": false, "to-lake": true} {
		score, found := s.lettered(t, name, files)
		for range 2 {
			succeed(t, "score", "-c", score, "--once")
			s.agree(t, found())
			deadLetters := s.deadLettersOn(t, name+"-dead")
			for i := range deadLetters { // a record without a partition of its own may be in any
				before, after, _ := strings.Cut(deadLetters[i], " partition=")
				_, reason, _ := strings.Cut(after, " reason=")
				deadLetters[i] = before + " " + reason
			}
			want := []string{
				"more no row topic=features it is no JSON object",
				`more {"x1": 1, "id": "text"} topic=features x2 is null`,
				`more {"x1": 1e31, "x2": 1} topic=features x1 is beyond 1e30 in magnitude`,
			}
			if diff := cmp.Diff(want, deadLetters); diff != "" {
				t.Errorf("%s: dead letters (-want +got):\n%s", name, diff)
			}
		}
	}
	missing := s.file(t, "predictions", "others", "rejected: {to: {kafka: nowhere}}\n")
	pacsgp(t, "score", "-c", missing, "--once").says(t, exitFailure, `"nowhere"`)
}

// A record that the topics do not take, even compressed, stops nothing: its row has the reason, and its
// position is a dead letter; the rows behind it are predicted.
func TestScoreOfARecordThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 60, "")
	noise := make([]byte, 30_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	large := base64.StdEncoding.EncodeToString(noise)
	s.send(t, fmt.Sprintf(`{"x1": 0.5, "x2": 0.5, "id": %q}`, large), fmt.Sprintf(`{"x1": null, "x2": 0.5, "id": %q}`, large))
	for _, topic := range []string{"small", "small-dead"} {
		_, err := own(t, s.address).CreateTopic(t.Context(), topic, 2, -1, broker.Settings{"max.message.bytes": "20000"})
		fatal.If(t, err)
	}
	path := s.file(t, "small", "small", "rejected: {to: {kafka: small-dead}}\nsession_timeout: 1s\n")
	for range 2 {
		succeed(t, "score", "-c", path, "--once")
		found := s.found(t, "small")
		s.agree(t, found)
		reasons := 0
		for _, p := range found {
			if p.Reason != nil && strings.Contains(*p.Reason, "more than the topic small takes (max.message.bytes is 20000)") && string(p.ID) == "null" {
				reasons++
			}
		}
		deadLetters := s.deadLettersOn(t, "small-dead")
		if reasons != 1 || len(deadLetters) != 2 {
			t.Fatalf("%d rows say why, %d dead letters", reasons, len(deadLetters))
		}
		for _, letter := range deadLetters {
			if !strings.HasPrefix(letter, "  topic=features partition=") || !strings.Contains(letter, " offset=") || !strings.Contains(letter, "; the record is not here: it has 40") {
				t.Errorf("the letter is %.300s", letter)
			}
		}
	}
	missing := s.file(t, "mistyped", "mistyped", "")
	pacsgp(t, "score", "-c", missing, "--once").says(t, exitFailure, "kafka-topics.sh --create --topic mistyped")
}
