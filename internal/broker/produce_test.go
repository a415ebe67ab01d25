package broker

import (
	"math"
	"testing"
)

// As Kafka's own producers count (DefaultRecordBatch.incrementSequence): no number is
// negative, and behind 2³¹−1 comes 0.
func TestSequencesWrap(t *testing.T) {
	for _, c := range []struct {
		at      int32
		records int
		want    int32
	}{{0, 1, 1}, {5, 500, 505}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 1, 1, math.MaxInt32}, {math.MaxInt32 - 9, 20, 10}} {
		if got := following(c.at, c.records); got != c.want {
			t.Errorf("behind %d records from %d on comes %d, want %d", c.records, c.at, got, c.want)
		}
	}
}
