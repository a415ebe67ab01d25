package kafkalog

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// maxBehind is the number of consecutive rounds in which a partition may end before the next offset:
// a new leader may not know its end yet.
const maxBehind = 30

// A behindError says that a partition ends before the next offset to read.
type behindError struct{ error }

// rounds read the partitions of a topic one after the other, some offsets at a time, so that none waits
// for the backlog of another.
type rounds struct {
	next   map[int]int64 // next offset to read, by partition
	behind int           // consecutive rounds in which a partition ended before its next offset
}

// round reads at most so many offsets of each partition that has new ones. quiet says that none had any,
// short that a partition ends before its next offset.
func (t *rounds) round(ctx context.Context, cfg Config, partitions []int, most int64, read func(partition int, end int64) error) (quiet, short bool, err error) {
	latest, err := cfg.Client.Offsets(ctx, cfg.Topic, partitions, broker.Latest)
	if err != nil {
		return false, false, err
	}
	quiet = true
	for _, p := range partitions {
		if latest[p] < t.next[p] {
			if short = true; t.behind >= maxBehind {
				return false, true, behindError{fmt.Errorf("kafka: partition %d of topic %q ends at offset %d, and the next row was to be at %d or behind: the topic was made again, or has lost records", p, cfg.Topic, latest[p], t.next[p])}
			}
			continue
		}
		if end := min(latest[p], t.next[p]+most); end > t.next[p] {
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
