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

// Of a file that an earlier process has begun, it says how many rows were left.
func TestScoreSaysWhichRowsOfAFile(t *testing.T) {
	var log bytes.Buffer
	e := newScoreEvents(config.ScoreFile{}, newDisplay(testSystem(discard{}, &log, plain(), nil)))
	e.where = func(score.File) string { return "topic predictions" }
	for _, rows := range []int64{5000, 4000, 1} {
		e.Predicted(score.Done{Files: []score.DoneFile{{File: score.File{Path: "a.parquet"}, Tally: score.Tally{Rows: rows, Refused: 1}, Whole: 5000}}})
	}
	for _, want := range []string{
		"a.parquet: predictions of 5000 rows, 1 of them without a prediction, in topic predictions",
		"a.parquet: predictions of the last 4000 of its 5000 rows, 1 of them without a prediction, in topic predictions",
		"a.parquet: predictions of the last 1 of its 5000 rows, 1 of them without a prediction, in topic predictions",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("it says %s; want %s", log.String(), want)
		}
	}
}
