package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

const (
	firstFetchBytes = 4 << 20
	maxFetchBytes   = 1 << 30
	// damagedTries is how often a damaged batch is fetched: the damage may be in the transfer.
	damagedTries = 3
	// emptyTries is how many seconds to wait for known records: new leaders may be behind.
	emptyTries = 60
)

// A Range is the offsets of a partition from First to End, without End.
type Range struct {
	Topic      string
	Partition  int
	First, End int64
	FetchBytes int32 // size of one fetch; zero means 4 MiB

	// Undecided includes records of aborted and open transactions.
	Undecided bool
}

// Read calls use, in order, for each record of the range that a transactional consumer would see: no markers and no
// records of aborted transactions. A record is valid during the call. It returns an [OffsetError] for a missing offset.
func (c *Client) Read(ctx context.Context, r Range, use func(*Record) error) error {
	t := &tail{Range: r, offset: r.First, limit: r.FetchBytes}
	if t.limit <= 0 {
		t.limit = firstFetchBytes
	}
	var fetching sync.WaitGroup
	defer fetching.Wait()
	within, stop := context.WithCancel(ctx)
	defer stop()
	ask := func(offset int64, limit int32) *answered {
		a := &answered{offset: offset, limit: limit, came: make(chan struct{})}
		fetching.Go(func() {
			defer close(a.came)
			a.err = c.Retry(within, ofTopic(r.Topic, func(ctx context.Context) (err error) {
				a.fetched, err = c.fetch(ctx, r, offset, limit)
				return err
			}))
		})
		return a
	}
	var next *answered // prefetched behind the one whose records are being read
	for t.offset < t.End {
		if next == nil || next.offset != t.offset || next.limit != t.limit {
			next = ask(t.offset, t.limit)
		}
		now := next
		<-now.came
		if errors.Is(now.err, kafka.OffsetOutOfRange) {
			return &OffsetError{t.Topic, t.Partition, t.offset}
		}
		if now.err != nil {
			return t.fail("%w", now.err)
		}
		next = nil
		if behind := behindWhole(now.batches); behind > t.offset && behind < t.End {
			next = ask(behind, t.limit)
		}
		if err := t.batches(ctx, now.fetched, use); err != nil {
			return err
		}
		now.release()
	}
	return nil
}

// An answered is the answer to one fetch. It is valid once came is closed.
type answered struct {
	fetched

	offset int64
	limit  int32
	came   chan struct{}
	err    error
}

// An OffsetError names an offset that a partition does not have: deleted, or not yet written.
type OffsetError struct {
	Topic     string
	Partition int
	Offset    int64
}

// Error returns the message, with the offset.
func (e *OffsetError) Error() string {
	return fmt.Sprintf("topic %q, partition %d: there is no offset %d", e.Topic, e.Partition, e.Offset)
}

// A tail is the unread rest of a range.
type tail struct {
	Range

	offset  int64 // of the next record
	limit   int32
	damaged int
	empty   int // empty answers in a row
	buf     []byte
}

// fail returns an error at the next offset.
func (t *tail) fail(format string, args ...any) error {
	return fmt.Errorf("topic %q, partition %d, offset %d: "+format, append([]any{t.Topic, t.Partition, t.offset}, args...)...)
}

// batches calls use with the records of the whole batches of one answer.
func (t *tail) batches(ctx context.Context, found fetched, use func(*Record) error) error {
	if len(found.batches) == 0 {
		return t.nothing(found)
	}
	t.empty = 0
	aborted := aborted{open: found.aborted}
	for data := found.batches; len(data) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, rest, err := NextBatch(data, &t.buf)
		if errors.Is(err, errIncomplete) {
			if len(data) < len(found.batches) {
				return nil
			}
			if t.limit >= maxFetchBytes { // not even one batch is whole
				return t.fail("a batch is larger than %d MiB", maxFetchBytes>>20)
			}
			t.limit = min(2*max(t.limit, 1<<16), maxFetchBytes)
			return nil
		}
		if err != nil {
			if t.damaged++; t.damaged < damagedTries {
				return nil
			}
			return t.fail("the batch here is damaged: %w", err)
		}
		t.damaged = 0
		data = rest
		if b.First >= t.End {
			t.offset = t.End
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

// nothing handles an answer without a batch: the rest of the range was compacted away, or the log has become shorter.
func (t *tail) nothing(found fetched) error {
	if t.empty++; t.empty > 1 && found.stable >= t.End {
		t.offset = t.End
		return nil
	}
	if t.empty > emptyTries {
		return t.fail("the log is committed up to the offset %d only, and was up to %d: records were lost", found.stable, t.End)
	}
	return nil
}

// records calls use with the records of a batch that are in the range.
func (t *tail) records(b *Batch, use func(*Record) error) error {
	var r Record
	for {
		err := b.Next(&r)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return t.fail("%w", err)
		case r.Offset < t.offset:
			continue // an answer begins with the whole batch that has the offset
		case r.Offset >= t.End:
			return nil
		}
		if err := use(&r); err != nil {
			return err
		}
	}
}

// aborted finds the batches of aborted transactions: those of a producer from the first offset of
// its transaction to its next marker.
type aborted struct {
	open      []fetch.ResponseTransaction // not reached yet, by first offset
	producers map[int64]bool              // in an aborted transaction now
}

// hides reports whether the records of a batch must not be read.
func (a *aborted) hides(b *Batch) (bool, error) {
	for len(a.open) > 0 && a.open[0].FirstOffset <= b.Last {
		if a.producers == nil {
			a.producers = map[int64]bool{}
		}
		a.producers[a.open[0].ProducerID] = true
		a.open = a.open[1:]
	}
	if !b.Control {
		return b.Transactional && a.producers[b.Producer], nil
	}
	commits, err := b.commits()
	if err == nil && !commits {
		delete(a.producers, b.Producer)
	}
	return true, err
}

// behindWhole returns the offset after the last whole batch by their lengths, or −1. It is a guess
// until the batches are read.
func behindWhole(data []byte) (next int64) {
	next = -1
	for len(data) >= headerBytes {
		size := int64(int32(binary.BigEndian.Uint32(data[8:]))) + 12
		if size < headerBytes || size > int64(len(data)) {
			break
		}
		first := int64(binary.BigEndian.Uint64(data))
		next = first + int64(binary.BigEndian.Uint32(data[23:])) + 1
		data = data[size:]
	}
	return next
}
