package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// What is replayed is the topic of the verifier: a certificate that names another
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
		_, err := own.Replay(certify.Certificate{Evidence: certify.Evidence{Sample: certify.Sample{Segments: []certify.Segment{c.segment}}}})
		if errors.Is(err, job.ErrRefused) != c.refused {
			t.Errorf("%+v: %v, want refused: %v", c.segment, err, c.refused)
		}
	}
}

// Spools of other windows are found under every name of an output.
func TestOtherSpools(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out[1")
	own, other := filepath.Join(output, spoolPrefix+"a"), filepath.Join(output, spoolPrefix+"b")
	fatal.If(t, os.MkdirAll(own, 0o755))
	fatal.If(t, os.Mkdir(other, 0o755))
	k := &Topic{}
	k.Config.Folder = own
	if got := k.others(output); !slices.Equal(got, []string{other}) {
		t.Errorf("others are %q, want %q", got, other)
	}
}
