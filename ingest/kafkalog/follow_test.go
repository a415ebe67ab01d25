package kafkalog

import (
	"strings"
	"testing"
)

// A topic that ends before the offset to go on at was made again or has lost records: its
// rows are not skipped in silence.
func TestFollowBehindTheEnd(t *testing.T) {
	t.Parallel() // it polls for seconds
	c := newCluster(t, 2)
	produce(t, c.producer(t), row(0, 1, 2), row(1, 3, 4))
	cfg := c.config(t)
	cfg.Group = "scorers"
	rows := 0
	count := func(taken Batch) error { rows += len(taken.Records); return nil }
	err := cfg.follow(t.Context(), map[int]int64{0: 0, 1: 7}, true, count)
	if err == nil || !strings.Contains(err.Error(), "partition 1 of topic \"rows\" ends at offset 1") || !strings.Contains(err.Error(), "made again") {
		t.Errorf("%v, want what is wrong with partition 1", err)
	}
	if err := cfg.follow(t.Context(), map[int]int64{0: 0, 1: 1}, true, count); err != nil || rows == 0 {
		t.Errorf("%d rows: %v", rows, err)
	}
}
