package pipeline

import (
	"fmt"
	"maps"

	"github.com/pacsgp/pacsgp/internal/words"
)

// Windows is the state of a job that divides a topic into windows.
type Windows struct {
	Topic    string        `json:"topic"`
	Identity TopicIdentity `json:"identity"`
	// Ends holds the offsets at which the next window begins, by partition. If it is nil, the job decides where the
	// first window begins.
	Ends map[int]int64 `json:"ends,omitempty"`
	// Window is the frozen window that waits for its certificate, or nil.
	Window *TopicWindow `json:"window,omitempty"`
}

// A TopicIdentity distinguishes topics of the same name that are on different clusters, or of which one replaces the
// other. The zero value means that the identity is unknown.
type TopicIdentity struct {
	Cluster string `json:"cluster"`
	Topic   string `json:"topic"`
}

// A TopicWindow is a frozen window of a topic.
type TopicWindow struct {
	Topic      string        `json:"topic"`
	Identity   TopicIdentity `json:"identity"` // as far as brokers give it
	Partitions []WindowPart  `json:"partitions"`
}

// A WindowPart is the window of one partition: the offsets First to End − 1.
type WindowPart struct {
	Partition int   `json:"partition"`
	First     int64 `json:"first"`
	End       int64 `json:"end"`
}

// With returns the state with this window frozen. The ends of other partitions stay.
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

// Without returns the state after the window was certified or skipped.
func (s *Windows) Without() *Windows {
	next := *s
	next.Window = nil
	return &next
}

// Offsets returns the number of offsets in a window, including those of markers and aborted records.
func (w TopicWindow) Offsets() (n int64) {
	for _, part := range w.Partitions {
		n += part.End - part.First
	}
	return n
}

// String returns the window in words.
func (w TopicWindow) String() string {
	return fmt.Sprintf("%s of topic %s", words.Count(w.Offsets(), "offset"), w.Topic)
}
