package main

import (
	"bytes"
	"strings"
	"testing"
)

// One row is one row, and one batch one batch.
func TestScoreCountsInWords(t *testing.T) {
	var log bytes.Buffer
	s := &topicScorer{show: newDisplay(testSystem(discard{}, &log, plain(), nil))}
	for _, c := range []struct {
		n    tally
		want string
	}{
		{tally{1, 0, 1}, "predicted 1 row in 1 batch, 0 of them"},
		{tally{5, 1, 3}, "predicted 4 rows in 2 batches, 1 of them"},
	} {
		s.sum = c.n
		s.tally(true)
		if !strings.Contains(log.String(), c.want) {
			t.Errorf("it says %s; want %s", log.String(), c.want)
		}
	}
}
