package kafkalog

import (
	"context"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// pollEvery is the pause when no partition has a new record.
const pollEvery = 300 * time.Millisecond

// maxBehind is how many looks in a row may see a partition end too early: a new leader may not
// know its end yet.
const maxBehind = 30

// A BehindError says that a partition ends before the offset to go on at.
type BehindError struct {
	Topic     string
	Partition int
	End, Next int64 // offsets
}

// Error is the message.
func (e *BehindError) Error() string {
	return fmt.Sprintf("kafka: partition %d of topic %q ends at offset %d, and the next row was to be at %d or behind: the topic was made anew, or has lost records", e.Partition, e.Topic, e.End, e.Next)
}

// turns are those of the partitions of a topic, so that each has its part of a backlog.
type turns struct {
	next   map[int]int64 // offsets to go on at
	behind int           // looks in a row at a partition that ends before its offset
}

// round reads a turn of each partition that has more. It reports whether none had, and whether a
// partition ends before its offset.
func (t *turns) round(ctx context.Context, cfg Config, partitions []int, turn int64, read func(partition int, end int64) error) (quiet, short bool, err error) {
	latest, err := cfg.Client.Offsets(ctx, cfg.Topic, partitions, broker.Latest)
	if err != nil {
		return false, false, err
	}
	quiet = true
	for _, p := range partitions {
		if latest[p] < t.next[p] {
			if short = true; t.behind >= maxBehind {
				return false, true, &BehindError{cfg.Topic, p, latest[p], t.next[p]}
			}
			continue
		}
		if end := min(latest[p], t.next[p]+turn); end > t.next[p] {
			quiet = false
			if err := read(p, end); err != nil {
				return false, short, err
			}
		}
	}
	if t.behind++; !short {
		t.behind = 0
	}
	return quiet, short, nil
}
