package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// A Taken is a record with its partition.
type Taken struct {
	Partition int
	broker.Record
}

// A Take is records that came one after the other in each of their partitions.
type Take struct {
	Records []Taken
	Ends    map[int]int64 // behind the take, of the partitions that it has something of
	// Pause says that the next take comes when it was looked what more there is. A take of
	// nothing says it too.
	Pause bool
}

const (
	takeRecords = 1 << 14
	takeBytes   = 8 << 20
	// turnOffsets is how much is read of one partition before the others have their turn.
	turnOffsets = 1 << 16
	// maxBehind is how often a partition may be seen to end before the offset to go on at.
	maxBehind = 30
	// identityEvery is the time between two looks whether the topic is still the same one.
	identityEvery = 5 * time.Second
)

// A BehindError says that a partition ends before the offset to go on at: the topic was
// made anew, or has lost records.
type BehindError struct {
	Topic     string
	Partition int
	End, Next int64 // offsets
}

// Error is the message.
func (e *BehindError) Error() string {
	return fmt.Sprintf("kafka: partition %d of topic %q ends at offset %d, and the next row was to be at %d or behind: the topic was made anew, or has lost records", e.Partition, e.Topic, e.End, e.Next)
}

// Follow hands over what the topic has from these offsets on, by partition, and goes on as
// more comes: until ctx is done, use returns an error or, with once, there is no more. A
// take belongs to who gets it. A partition that is not named begins at its earliest offset.
// It ends with an error that is [broker.ErrAnother] soon after the topic was made anew, if
// brokers tell; of what was handed over since it looked last it is not known of which topic
// it is. Of cfg Client, Topic, Identity and SkipTombstones are used.
func (cfg Config) Follow(ctx context.Context, from map[int]int64, once bool, use func(Take) error) error {
	f := follower{cfg: cfg, use: use, next: maps.Clone(from), ends: map[int]int64{}}
	f.clear()
	for {
		quiet, err := f.round(ctx)
		if err == nil && (quiet && once || time.Since(f.looked) >= identityEvery) {
			err = f.same(ctx)
		}
		if err == nil {
			err = f.flush(true)
		}
		if err != nil || quiet && once {
			return err
		}
		if !quiet {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// A follower fills a take.
type follower struct {
	cfg   Config
	use   func(Take) error
	next  map[int]int64 // offsets
	ends  map[int]int64 // of the takes that were handed over
	take  Take
	bytes int
	room  []byte // for what records hold

	going  bool // the take before was not the last one before a pause
	behind int  // looks at a partition that ends before the offset to go on at

	looked time.Time // whether the topic is the same one
}

// same looks whether the topic is still the one that it was.
func (f *follower) same(ctx context.Context) error {
	if f.looked = time.Now(); f.cfg.Identity == (broker.Identity{}) {
		return nil
	}
	is, err := f.cfg.Client.Identity(ctx, f.cfg.Topic)
	if err != nil {
		return err
	}
	return is.Same(f.cfg.Identity, f.cfg.Topic, "the one whose rows came before")
}

func (f *follower) clear() {
	// The next take is as long as this one, most often.
	f.take, f.bytes, f.room = Take{Records: make([]Taken, 0, len(f.take.Records)), Ends: map[int]int64{}}, 0, nil
}

// flush hands over what there is.
func (f *follower) flush(pause bool) error {
	if len(f.take.Ends) == 0 && (!pause || !f.going) {
		return nil
	}
	take := f.take
	take.Pause, f.going = pause, !pause
	maps.Copy(f.ends, take.Ends)
	f.clear()
	return f.use(take)
}

// round gives each partition a turn, and reports whether none had anything.
func (f *follower) round(ctx context.Context) (quiet bool, err error) {
	partitions, err := f.cfg.partitions(ctx)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(partitions, func(p int) bool { _, ok := f.next[p]; return !ok }) {
		at, err := f.cfg.Following(ctx, f.next)
		if err != nil {
			return false, err
		}
		f.next = at.Offsets
	}
	latest, err := f.cfg.Client.Offsets(ctx, f.cfg.Topic, partitions, broker.Latest)
	if err != nil {
		return false, err
	}
	quiet = true
	for _, p := range partitions {
		if latest[p] < f.next[p] {
			if err := f.same(ctx); err != nil {
				return false, err
			}
			if f.behind++; f.behind > maxBehind {
				return false, &BehindError{f.cfg.Topic, p, latest[p], f.next[p]}
			}
			select { // a new leader may not know yet how far it is
			case <-ctx.Done():
				return false, ctx.Err()
			case <-time.After(pollEvery):
			}
			quiet = false
			continue
		}
		end := min(latest[p], f.next[p]+turnOffsets)
		if end <= f.next[p] {
			continue
		}
		quiet, f.behind = false, 0
		at := broker.Range{Topic: f.cfg.Topic, Partition: p, First: f.next[p], End: end, FetchBytes: f.cfg.fetchBytes}
		if err := f.cfg.Client.Read(ctx, at, func(r *broker.Record) error { return f.add(p, r) }); err != nil {
			if _, out := errors.AsType[*broker.OffsetError](err); out {
				if other := f.same(ctx); other != nil {
					return false, other
				}
			}
			return false, f.cfg.explain(ctx, err)
		}
		if f.next[p] = end; f.ends[p] != end {
			f.take.Ends[p] = end // behind markers too
		}
	}
	return quiet, nil
}

// add takes a record, which is valid during the call.
func (f *follower) add(partition int, r *broker.Record) error {
	if r.Value == nil && f.cfg.SkipTombstones {
		return nil
	}
	kept := *r
	kept.Key, kept.Value, kept.Headers = f.keep(r.Key), f.keep(r.Value), slices.Clone(r.Headers)
	for i := range kept.Headers {
		kept.Headers[i].Value = f.keep(kept.Headers[i].Value)
	}
	f.take.Records = append(f.take.Records, Taken{partition, kept})
	f.take.Ends[partition] = r.Offset + 1
	if f.bytes += len(r.Key) + len(r.Value); len(f.take.Records) < takeRecords && f.bytes < takeBytes {
		return nil
	}
	return f.flush(false)
}

// keep copies bytes to where many of them are.
func (f *follower) keep(b []byte) []byte {
	if b == nil {
		return nil
	}
	if cap(f.room)-len(f.room) < len(b) {
		f.room = make([]byte, 0, max(1<<18, len(b)))
	}
	n := len(f.room)
	f.room = append(f.room, b...)
	return f.room[n:len(f.room):len(f.room)]
}
