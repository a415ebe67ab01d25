package kafkalog

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// maxBehind is for how many rounds in a row a partition may end before the next offset: a new
// leader may not have its end yet.
const maxBehind = 30

// A behindError means that a partition ends before the next offset to read.
type behindError struct{ error }

// rounds reads the partitions of a topic in rounds, some offsets of each, so that no partition
// waits for the backlog of another.
type rounds struct {
	next   map[int]int64 // next offset to read, by partition
	behind int           // consecutive rounds in which a partition ended before its next offset
}

// round reads up to limit offsets of each partition that has new ones. quiet means that no partition
// had any, short that a partition ends before its next offset.
func (t *rounds) round(ctx context.Context, cfg Config, partitions []int, limit int64, read func(partition int, end int64) error) (quiet, short bool, err error) {
	latest, err := cfg.Client.Offsets(ctx, cfg.Topic, partitions, broker.Latest)
	if err != nil {
		return false, false, err
	}
	quiet = true
	for _, p := range partitions {
		if latest[p] < t.next[p] {
			if short = true; t.behind >= maxBehind {
				return false, true, behindError{fmt.Errorf("partition %d of topic %q ends at offset %d, and the next row was to be at %d or behind: the topic was made again, or has lost records", p, cfg.Topic, latest[p], t.next[p])}
			}
			continue
		}
		if end := min(latest[p], t.next[p]+limit); end > t.next[p] {
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
