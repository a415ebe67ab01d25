package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A GoneError means that the topic has lost the offsets [First, Start) of the window for good.
type GoneError struct {
	Topic        string
	Partition    int
	First, Start int64
}

// Error returns the message, with the offsets.
func (e *GoneError) Error() string {
	return fmt.Sprintf("topic %q, partition %d: the offsets %d to %d are gone, by retention or because somebody deleted them: the topic does not have these offsets any more", e.Topic, e.Partition, e.First, e.Start-1)
}

// Freeze returns the present offsets of From and To, in the order of partitions. It reads no rows.
func (cfg Config) Freeze(ctx context.Context) ([]pipeline.WindowPart, error) {
	partitions, err := cfg.partitions(ctx)
	if err != nil {
		return nil, err
	}
	earliest, latest, err := cfg.Client.Bounds(ctx, cfg.Topic, partitions)
	if err != nil {
		return nil, err
	}
	first, err := cfg.offsets(ctx, cfg.From, partitions, earliest, latest)
	if err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	end, err := cfg.offsets(ctx, cfg.To, partitions, earliest, latest)
	if err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	var parts []pipeline.WindowPart
	for _, p := range partitions {
		switch {
		case first[p] < earliest[p]:
			return nil, &GoneError{Topic: cfg.Topic, Partition: p, First: first[p], Start: earliest[p]}
		case end[p] > latest[p]:
			return nil, fmt.Errorf("topic %q, partition %d: the window ends at the offset %d, but what is committed ends at %d", cfg.Topic, p, end[p], latest[p])
		case first[p] > end[p]:
			return nil, fmt.Errorf("topic %q, partition %d: the window begins at the offset %d, behind its end %d", cfg.Topic, p, first[p], end[p])
		}
		parts = append(parts, pipeline.WindowPart{Partition: p, First: first[p], End: end[p]})
	}
	return parts, nil
}

// partitions returns the declared partitions, or all. A declared one must exist within some seconds: a member may get a
// new partition before the client sees it, since its metadata is up to two seconds old.
func (cfg Config) partitions(ctx context.Context) ([]int, error) {
	for tries := 1; ; tries++ {
		all, err := cfg.Client.Partitions(ctx, cfg.Topic)
		if err != nil || len(cfg.Partitions) == 0 {
			return all, err
		}
		missing := slices.IndexFunc(cfg.Partitions, func(p int) bool { return !slices.Contains(all, p) })
		if missing < 0 {
			return slices.Compact(slices.Sorted(slices.Values(cfg.Partitions))), nil
		}
		if tries == 5 {
			return nil, fmt.Errorf("topic %q has the partitions %v, and no partition %d", cfg.Topic, all, cfg.Partitions[missing])
		}
		if err := broker.Pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// offsets returns the offsets of a position. A time after the last record means the end.
func (cfg Config) offsets(ctx context.Context, at Position, partitions []int, earliest, latest map[int]int64) (map[int]int64, error) {
	if at.Offsets != nil {
		for _, p := range partitions {
			if _, ok := at.Offsets[p]; !ok {
				return nil, fmt.Errorf("topic %q: no offset is declared for partition %d", cfg.Topic, p)
			}
		}
		return at.Offsets, nil
	}
	switch at.Time {
	case broker.Earliest:
		return earliest, nil
	case broker.Latest:
		return latest, nil
	case Committed:
		found, err := cfg.Client.CommittedOffsets(ctx, cfg.Group, cfg.Topic, partitions)
		return since(found, earliest), err
	}
	found, err := cfg.Client.Offsets(ctx, cfg.Topic, partitions, at.Time)
	for p, offset := range found {
		if offset < 0 || offset > latest[p] {
			found[p] = latest[p]
		}
	}
	return found, err
}

// Following returns the position at these end offsets or, if ends is nil, at the group's committed
// offsets. Partitions without such an offset begin at their earliest one.
func (cfg Config) Following(ctx context.Context, ends map[int]int64) (Position, error) {
	partitions, err := cfg.partitions(ctx)
	if err != nil {
		return Position{}, err
	}
	earliest, err := cfg.Client.Offsets(ctx, cfg.Topic, partitions, broker.Earliest)
	if err == nil && ends == nil {
		ends, err = cfg.Client.CommittedOffsets(ctx, cfg.Group, cfg.Topic, partitions)
	}
	return Position{Offsets: since(ends, earliest)}, err
}

// since returns these offsets, with the earliest ones for missing and negative ones.
func since(offsets, earliest map[int]int64) map[int]int64 {
	at := maps.Clone(earliest)
	for p := range at {
		if offset, ok := offsets[p]; ok && offset >= 0 {
			at[p] = offset
		}
	}
	return at
}

// explain replaces the error for a missing offset by one with the cause.
func (cfg Config) explain(ctx context.Context, err error) error {
	at, ok := errors.AsType[*broker.OffsetError](err)
	if !ok {
		return err
	}
	earliest, lost := cfg.Client.Offsets(ctx, cfg.Topic, []int{at.Partition}, broker.Earliest)
	if lost != nil {
		return errors.Join(err, lost)
	}
	if start := earliest[at.Partition]; at.Offset < start {
		return &GoneError{Topic: cfg.Topic, Partition: at.Partition, First: at.Offset, Start: start}
	}
	return fmt.Errorf("%w, which it had when the window was frozen: it was made again, or has lost records", err)
}
