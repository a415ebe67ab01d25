package pipeline

import (
	"context"
	"fmt"
	"maps"

	"github.com/pacsgp/pacsgp/certify"
)

// Numbers says which numbers of its sequences an output has given out. The certificates of
// a sequence share delta by their numbers: each is taken once, durably, before anything is
// known of the bound that it is for.
type Numbers interface {
	// Sequence is the state of a sequence, the zero value of an unknown one. Damage is an error.
	Sequence(name string) (Sequence, error)
	// PutSequence replaces the state, durably.
	PutSequence(name string, s Sequence) error
	// Numbered are the ids of the certificates of a sequence, by number. It reads all
	// certificates of the output, and refuses one that is damaged.
	Numbered(ctx context.Context, name string) (map[int64]string, error)
}

// A Sequence is the state of the certificates of one name, which share delta by their numbers.
type Sequence struct {
	Identity string           `json:"identity"` // digest of the job, which its certificates have in common
	Numbers  map[string]int64 `json:"numbers"`  // of runs without a certificate, by their rows
	Taken    int64            `json:"taken"`    // the largest number that was ever taken
	Topic    *Windows         `json:"topic,omitempty"`
}

// maxTaken is beyond all numbers that are ever taken.
const maxTaken = 1 << 52

// Check refuses numbers that were never taken.
func (s Sequence) Check() error {
	if s.Taken < 0 || s.Taken > maxTaken {
		return fmt.Errorf("%d is no number of a sequence", s.Taken)
	}
	for _, number := range s.Numbers {
		if number < 1 || number > s.Taken {
			return fmt.Errorf("number %d of a sequence was never taken: %d were", number, s.Taken)
		}
	}
	return nil
}

// Windows says where the windows of a sequence on a topic have come to.
type Windows struct {
	Topic    string        `json:"topic"`
	Identity TopicIdentity `json:"identity"`
	// Ends are the ends of the last frozen window, by partition, or the begin of the first one;
	// nil: the job says it.
	Ends map[int]int64 `json:"ends,omitempty"`
	// Window is frozen and has no certificate yet; nil: there is none that is to have one.
	Window *TopicWindow `json:"window,omitempty"`
}

// A TopicIdentity distinguishes topics of one name: a replaced one, or one on another cluster.
// The zero value means unknown.
type TopicIdentity struct {
	Cluster string `json:"cluster"`
	Topic   string `json:"topic"`
}

// A TopicWindow is a frozen window of a topic.
type TopicWindow struct {
	Topic      string        `json:"topic"`
	Identity   TopicIdentity `json:"identity"` // as far as brokers tell
	Partitions []WindowPart  `json:"partitions"`
}

// A WindowPart is the window of one partition: from its first offset up to, and without,
// its end.
type WindowPart struct {
	Partition int   `json:"partition"`
	First     int64 `json:"first"`
	End       int64 `json:"end"`
}

// With is the state with this window frozen. It keeps the ends of other partitions.
func (s *Windows) With(w TopicWindow) *Windows {
	next := &Windows{Topic: w.Topic, Identity: w.Identity, Ends: map[int]int64{}, Window: &w}
	if s != nil {
		maps.Copy(next.Ends, s.Ends)
	}
	for _, part := range w.Partitions {
		next.Ends[part.Partition] = part.End
	}
	return next
}

// Without is the state after the window, with or without a certificate.
func (s *Windows) Without() *Windows {
	next := *s
	next.Window = nil
	return &next
}

// Offsets is the number of offsets in a window, with those of markers and aborted records.
func (w TopicWindow) Offsets() (n int64) {
	for _, part := range w.Partitions {
		n += part.End - part.First
	}
	return n
}

// String names the window in a sentence.
func (w TopicWindow) String() string {
	return fmt.Sprintf("%s of topic %s", certify.Count(w.Offsets(), "offset"), w.Topic)
}
