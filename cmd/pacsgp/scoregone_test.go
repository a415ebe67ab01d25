package main

import (
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Rows deleted before they were predicted end score with their partition and offsets, and with a
// remedy that works.
func TestScoreOfATopicThatHasLostRows(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"topic", "directory"} {
		s := topicOf(t, seededTopics(t), 60, "")
		score, group := s.score, "scorers"
		if output == "directory" {
			group = "to-lake"
			score = s.toLake(t, group, "scored", "")
		}
		s.send(t)
		succeed(t, "score", "-c", score, "--once")
		s.send(t)
		forget(t, s.address, "features", 1, 42)
		pacsgp(t, "score", "-c", score, "--once").says(t, exitFailure, `topic "features", partition 1: the offsets 30 to 41 are gone`,
			"hint: these rows had no predictions", "--group "+group+" --topic features:1 --reset-offsets --to-offset 42 --execute", "another group and another output "+output)

		own := own(t, s.address)
		w, err := own.NewWriter(t.Context(), "")
		fatal.If(t, err)
		at, _, err := own.Committed(t.Context(), group, "features", []int{0, 1})
		fatal.If(t, err)
		// What the tool does: the text next to the offset goes.
		fatal.If(t, w.CommitOffsets(t.Context(), &broker.Member{Generation: -1}, group, "features", map[int]int64{1: 42}, ""))
		succeed(t, "score", "-c", score, "--once")
		now, _, err := own.Committed(t.Context(), group, "features", []int{0, 1})
		if err != nil || now[0] != 60 || now[1] != 60 {
			t.Errorf("to a %s: the group was at %v and is at %v: %v", output, at, now, err)
		}
	}
}
