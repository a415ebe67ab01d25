package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// One row is one row, and one batch one batch.
func TestScoreCountsInWords(t *testing.T) {
	var log bytes.Buffer
	var c config.ScoreFile
	c.Source.Kafka.Topic = "rows"
	e := newScoreEvents(c, newDisplay(testSystem(discard{}, &log, plain(), nil)))
	for _, one := range []struct {
		n    score.Tally
		want string
	}{
		{score.Tally{Rows: 1, Units: 1}, "predicted 1 row in 1 batch, 0 of them"},
		{score.Tally{Rows: 4, Refused: 1, Units: 2}, "predicted 4 rows in 2 batches, 1 of them"},
	} {
		e.Predicted(score.Done{Tally: one.n})
		e.tally(true)
		if !strings.Contains(log.String(), one.want) {
			t.Errorf("it says %s; want %s", log.String(), one.want)
		}
	}
}
