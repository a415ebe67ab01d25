package kafkalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// A Record is a record with its partition.
type Record struct {
	Partition int
	broker.Record
}

// A Batch has consecutive records of each of its partitions.
type Batch struct {
	Records []Record
	Ends    map[int]int64 // by partition: the offset after the batch
	// Pause means that all partitions were just read to their ends. A batch may have only a Pause and no records.
	Pause bool
}

const (
	batchRecords = 1 << 14
	batchBytes   = 8 << 20
	// roundOffsets is how many offsets of one partition are read before the next partition.
	roundOffsets = 1 << 16
)

// follow calls use with batches of records, from the given offset of each partition on, or from the earliest one. It
// waits for more until ctx is done, use returns an error or, if once is set, the end is reached. use owns its batch. If
// the topic was replaced, follow soon returns [broker.ErrAnother], unless brokers report no ids; the last batches may
// be from either topic. Only the fields Client, Topic, Partitions and Identity are used.
func (cfg Config) follow(ctx context.Context, from map[int]int64, once bool, use func(Batch) error) error {
	f := follower{rounds: rounds{next: maps.Clone(from)}, cfg: cfg, use: use, ends: map[int]int64{}}
	f.clear()
	for {
		quiet, err := f.round(ctx)
		if err == nil && (quiet && once || time.Since(f.checked) >= broker.IdentityEvery) {
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

// A follower collects records into batches.
type follower struct {
	rounds

	cfg   Config
	use   func(Batch) error
	ends  map[int]int64 // by partition: offset after the batches so far
	batch Batch
	bytes int    // of keys and values in the batch
	room  []byte // memory for keys, values and headers of the batch

	going   bool      // the previous batch had no Pause
	checked time.Time // when same was last called
}

// same returns an error if the topic was replaced by a new one.
func (f *follower) same(ctx context.Context) error {
	f.checked = time.Now()
	return f.cfg.Client.Same(ctx, f.cfg.Identity, f.cfg.Topic, "the one whose rows came before")
}

func (f *follower) clear() {
	// The next batch is usually as long as this one.
	f.batch, f.bytes, f.room = Batch{Records: make([]Record, 0, len(f.batch.Records)), Ends: map[int]int64{}}, 0, nil
}

// flush passes the batch to use, unless it has no news.
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

// round reads some offsets of each partition. quiet means that no partition had new offsets.
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
	quiet, short, err := f.rounds.round(ctx, f.cfg, partitions, roundOffsets, func(p int, end int64) error {
		at := broker.Range{Topic: f.cfg.Topic, Partition: p, First: f.next[p], End: end, FetchBytes: f.cfg.fetchBytes}
		if err := f.cfg.Client.Read(ctx, at, func(r *broker.Record) error { return f.add(p, r) }); err != nil {
			return err
		}
		if f.next[p] = end; f.ends[p] != end {
			f.batch.Ends[p] = end // also after markers
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

// add copies a record, which is valid only during the call, into the batch.
func (f *follower) add(partition int, r *broker.Record) error {
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

// keep copies bytes into a large block of memory, to save allocations.
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
