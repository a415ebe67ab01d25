package config

import (
	"errors"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// What is replayed is the topic of whoever verifies: a certificate that names another
// one, or another partition, is refused.
func TestReplayIsOfTheOwnTopic(t *testing.T) {
	own := &Topic{KafkaSection: KafkaSection{TopicSection: TopicSection{Topic: "flights"}, Partitions: []int{0, 2}}}
	for _, c := range []struct {
		segment certify.Segment
		refused bool
	}{
		{certify.Segment{Topic: "flights", Partition: 2, End: 5, Rows: 5}, false},
		{certify.Segment{Topic: "flights", Partition: 1, End: 5, Rows: 5}, true},
		{certify.Segment{Topic: "rehearsal", Partition: 0, End: 5, Rows: 5}, true},
	} {
		_, err := own.Replay(certify.Certificate{Sample: certify.Sample{Segments: []certify.Segment{c.segment}}})
		if errors.Is(err, pipeline.ErrRefused) != c.refused {
			t.Errorf("%+v: %v, want refused: %v", c.segment, err, c.refused)
		}
	}
}
