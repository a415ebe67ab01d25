package certify

import (
	"slices"
	"testing"
)

// What a model and its parents have seen is one range for each partition, however many
// windows were left out in between: it would grow for ever.
func TestSeenDoesNotGrow(t *testing.T) {
	var c Certificate
	c.Publisher.Training.Parent = &Parent{Rows: []Span{{"rows", 0, 0, 100}, {"rows", 1, 0, 90}}}
	c.Sample.Segments = []Segment{{Topic: "rows", Partition: 1, First: 90, End: 100, Rows: 10}, {Topic: "rows", Partition: 0, First: 700, End: 800, Rows: 100}}
	if got, want := c.Seen(), []Span{{"rows", 0, 0, 800}, {"rows", 1, 0, 100}}; !slices.Equal(got, want) {
		t.Errorf("seen are %v, want %v", got, want)
	}
	for _, s := range []Segment{{"rows", 0, 0, 1, 60}, {"rows", 1 << 31, 0, 9, 9}, {".", 0, 0, 9, 9}} {
		if (Sample{Shards: 1, Segments: []Segment{s}}).validateSegments(s.Rows) == nil {
			t.Errorf("a log is believed to have %d rows in %v", s.Rows, s)
		}
	}
}
