package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pacsgp/pacsgp/internal/broker"
)

const (
	firstFetchBytes = 4 << 20
	maxFetchBytes   = 1 << 30
	// damagedTries is how often a damaged batch is fetched: it may be whole on the disk.
	damagedTries = 3
	// emptyTries is how many seconds to wait for records that were there when the
	// window was frozen: replicas that lead anew may have to catch up.
	emptyTries = 60
)

// A tail reads the records of one partition up to an end.
type tail struct {
	cfg       Config
	partition int
	offset    int64 // of the next record
	end       int64
	limit     int32
	damaged   int
	empty     int // answers in a row
	buf       []byte
}

// each calls use for every record that a transactional consumer would see, in order.
// A record is valid during the call.
func (t *tail) each(ctx context.Context, use func(*broker.Record) error) error {
	if t.limit == 0 {
		t.limit = firstFetchBytes
		if t.cfg.fetchBytes > 0 {
			t.limit = t.cfg.fetchBytes
		}
	}
	for t.offset < t.end {
		var found broker.Fetched
		err := t.cfg.Client.Retry(ctx, func(ctx context.Context) (err error) {
			found, err = t.cfg.Client.Fetch(ctx, t.cfg.Topic, t.partition, t.offset, t.limit)
			return err
		})
		if errors.Is(err, broker.ErrOutOfRange) {
			return t.outOfRange(ctx)
		}
		if err != nil {
			return fmt.Errorf("kafka: topic %q, partition %d, offset %d: %w", t.cfg.Topic, t.partition, t.offset, err)
		}
		if err := t.batches(ctx, found, use); err != nil {
			return err
		}
	}
	return nil
}

// batches hands on the records of one answer. A batch that is not whole is left to the
// next one.
func (t *tail) batches(ctx context.Context, found broker.Fetched, use func(*broker.Record) error) error {
	if len(found.Batches) == 0 {
		return t.nothing(found)
	}
	t.empty = 0
	aborted := aborted{open: found.Aborted}
	for data := found.Batches; len(data) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, rest, err := broker.NextBatch(data, &t.buf)
		if errors.Is(err, broker.ErrIncomplete) {
			if len(data) == len(found.Batches) { // not even one batch is whole
				if t.limit >= maxFetchBytes {
					return fmt.Errorf("kafka: topic %q, partition %d: the batch at the offset %d is larger than %d MiB", t.cfg.Topic, t.partition, t.offset, maxFetchBytes>>20)
				}
				t.limit *= 2
			}
			return nil
		}
		if err != nil {
			if t.damaged++; t.damaged < damagedTries {
				return nil
			}
			return fmt.Errorf("kafka: topic %q, partition %d: the batch at the offset %d is damaged: %w", t.cfg.Topic, t.partition, t.offset, err)
		}
		t.damaged = 0
		data = rest
		if b.First >= t.end {
			t.offset = t.end
			return nil
		}
		hidden, err := aborted.hides(&b)
		if err == nil && !hidden {
			err = t.records(&b, use)
		}
		if err != nil {
			return err
		}
		t.offset = max(t.offset, b.Last+1)
	}
	return nil
}

// nothing deals with an answer without a batch: the rest of the window was compacted
// away, or the log is shorter than it was.
func (t *tail) nothing(found broker.Fetched) error {
	if t.empty++; t.empty > 1 && found.Stable >= t.end {
		t.offset = t.end
		return nil
	}
	if t.empty > emptyTries {
		return fmt.Errorf("kafka: topic %q, partition %d: the log is committed up to the offset %d only, the window ends at %d: records were lost", t.cfg.Topic, t.partition, found.Stable, t.end)
	}
	return nil
}

// records hands on the records of a batch that lie in the window.
func (t *tail) records(b *broker.Batch, use func(*broker.Record) error) error {
	var r broker.Record
	for {
		err := b.Next(&r)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("kafka: topic %q, partition %d: the batch at the offset %d: %w", t.cfg.Topic, t.partition, b.First, err)
		case r.Offset < t.offset:
			continue // the answer begins with the batch that holds the offset
		case r.Offset >= t.end:
			return nil
		}
		if err := use(&r); err != nil {
			return err
		}
	}
}

// outOfRange says why the next offset is not to be had.
func (t *tail) outOfRange(ctx context.Context) error {
	earliest, err := t.cfg.Client.Offsets(ctx, t.cfg.Topic, []int{t.partition}, broker.Earliest)
	if err != nil {
		return err
	}
	if start := earliest[t.partition]; t.offset < start {
		return t.cfg.gone(ctx, t.partition, t.offset, start)
	}
	return fmt.Errorf("kafka: topic %q, partition %d: the log ends before the offset %d, which it had when the window was frozen: it was made anew, or has lost records", t.cfg.Topic, t.partition, t.offset)
}

// aborted knows which batches belong to transactions that were aborted: those of a
// producer from the first offset of its transaction up to its next marker.
type aborted struct {
	open      []broker.Aborted // that have not begun, by their first offset
	producers map[int64]bool   // with one that has
}

// hides reports whether the records of a batch are not to be read.
func (a *aborted) hides(b *broker.Batch) (bool, error) {
	for len(a.open) > 0 && a.open[0].First <= b.Last {
		if a.producers == nil {
			a.producers = map[int64]bool{}
		}
		a.producers[a.open[0].Producer] = true
		a.open = a.open[1:]
	}
	if !b.Control {
		return b.Transactional && a.producers[b.Producer], nil
	}
	commits, err := b.Commits()
	if err == nil && !commits {
		delete(a.producers, b.Producer)
	}
	return true, err
}
