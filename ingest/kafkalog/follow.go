package kafkalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// A Record is a broker's record with its partition.
type Record struct {
	Partition int
	broker.Record
}

// A Batch is records that came one after the other in each of their partitions.
type Batch struct {
	Records []Record
	Ends    map[int]int64 // behind the batch, of the partitions that it has something of
	// Pause says that the next batch comes after another look at the topic. A batch may have nothing
	// but this.
	Pause bool
}

const (
	batchRecords = 1 << 14
	batchBytes   = 8 << 20
	// turnOffsets is how much is read of one partition before the others have their turn.
	turnOffsets = 1 << 16
	// identityEvery is the time between two looks whether the topic is still the same one.
	identityEvery = 5 * time.Second
)

// Follow hands over records from these offsets on, by partition, and waits for more, until ctx is
// done, use returns an error or, with once, the end is reached. use owns its batch. Other
// partitions begin at their earliest offset. Soon after the topic was made anew it ends with an
// error that is [broker.ErrAnother], if brokers tell; the last batches may be of either topic. Of
// cfg Client, Topic, Identity and SkipTombstones are used.
func (cfg Config) Follow(ctx context.Context, from map[int]int64, once bool, use func(Batch) error) error {
	f := follower{turns: turns{next: maps.Clone(from)}, cfg: cfg, use: use, ends: map[int]int64{}}
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
		if quiet {
			if err := broker.Pause(ctx, pollEvery); err != nil {
				return err
			}
		}
	}
}

// A follower fills a batch.
type follower struct {
	turns

	cfg   Config
	use   func(Batch) error
	ends  map[int]int64 // of the batches that were handed over
	batch Batch
	bytes int
	room  []byte // for what records hold

	going  bool      // the batch before was not the last one before a pause
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
	// The next batch is as long as this one, most often.
	f.batch, f.bytes, f.room = Batch{Records: make([]Record, 0, len(f.batch.Records)), Ends: map[int]int64{}}, 0, nil
}

// flush hands over what there is.
func (f *follower) flush(pause bool) error {
	if len(f.batch.Ends) == 0 && (!pause || !f.going) {
		return nil
	}
	batch := f.batch
	batch.Pause, f.going = pause, !pause
	maps.Copy(f.ends, batch.Ends)
	f.clear()
	return f.use(batch)
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
	quiet, short, err := f.turns.round(ctx, f.cfg, partitions, turnOffsets, func(p int, end int64) error {
		at := broker.Range{Topic: f.cfg.Topic, Partition: p, First: f.next[p], End: end, FetchBytes: f.cfg.fetchBytes}
		if err := f.cfg.Client.Read(ctx, at, func(r *broker.Record) error { return f.add(p, r) }); err != nil {
			return err
		}
		if f.next[p] = end; f.ends[p] != end {
			f.batch.Ends[p] = end // behind markers too
		}
		return nil
	})
	_, out := errors.AsType[*broker.OffsetError](err)
	if out || short {
		if other := f.same(ctx); other != nil {
			return false, other
		}
	}
	if err == nil && short {
		err = broker.Pause(ctx, pollEvery)
	}
	return quiet && !short, f.cfg.explain(ctx, err)
}

// add adds a record, which is valid during the call.
func (f *follower) add(partition int, r *broker.Record) error {
	if r.Value == nil && f.cfg.SkipTombstones {
		return nil
	}
	kept := *r
	kept.Key, kept.Value, kept.Headers = f.keep(r.Key), f.keep(r.Value), slices.Clone(r.Headers)
	for i := range kept.Headers {
		kept.Headers[i].Value = f.keep(kept.Headers[i].Value)
	}
	f.batch.Records = append(f.batch.Records, Record{partition, kept})
	f.batch.Ends[partition] = r.Offset + 1
	if f.bytes += len(r.Key) + len(r.Value); len(f.batch.Records) < batchRecords && f.bytes < batchBytes {
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
