package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
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

// Of a file that an earlier process has begun, it says how many rows were left.
func TestScoreSaysWhichRowsOfAFile(t *testing.T) {
	var said []string
	var c scoring
	c.Output.Kafka.Topic = "predictions"
	s := &fileSender{scorer: newScorer(c, system{}, nil, nil, func(text string) { said = append(said, text) })}
	for _, rows := range []int64{5000, 4000, 1} {
		s.sent(sending{files: []filePart{{path: "a.parquet", now: sinklog.Progress{Rows: 5000, Done: true}, n: tally{rows: rows, refused: 1}}}})
	}
	want := []string{
		"a.parquet: predictions of 5000 rows, 1 of them without a prediction, in topic predictions",
		"a.parquet: predictions of the last 4000 of its 5000 rows, 1 of them without a prediction, in topic predictions",
		"a.parquet: predictions of the last 1 of its 5000 rows, 1 of them without a prediction, in topic predictions",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}
