package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

const (
	firstFetchBytes = 4 << 20
	maxFetchBytes   = 1 << 30
	// damagedTries is how often a damaged batch is fetched: it may be whole on the disk.
	damagedTries = 3
	// emptyTries is how many seconds to wait for known records: new leaders may have to catch up.
	emptyTries = 60
)

// A Range is the offsets of a partition from First up to, and without, End.
type Range struct {
	Topic      string
	Partition  int
	First, End int64
	FetchBytes int32 // that are asked for at a time; 0: 4 MiB

	// Undecided asks also for records of transactions that were aborted or have not ended.
	Undecided bool
}

// Read calls use for every record of the range that a transactional consumer would see, in order:
// no markers, none of an aborted transaction. A record is valid during the call. A missing offset
// is an [OffsetError].
func (c *Client) Read(ctx context.Context, r Range, use func(*Record) error) error {
	t := &tail{Range: r, offset: r.First, limit: r.FetchBytes}
	if t.limit <= 0 {
		t.limit = firstFetchBytes
	}
	ahead := &fetcher{client: c, of: t}
	defer ahead.drop()
	for t.offset < t.End {
		found, err := ahead.take(ctx, t.offset, t.limit)
		if errors.Is(err, kafka.OffsetOutOfRange) {
			return &OffsetError{t.Topic, t.Partition, t.offset}
		}
		if err != nil {
			return t.fail("%w", err)
		}
		if next := behindWhole(found.batches); next > t.offset && next < t.End {
			ahead.ask(ctx, next, t.limit)
		}
		if err := t.batches(ctx, found, use); err != nil {
			return err
		}
		found.release()
	}
	return nil
}

// An OffsetError names an offset that a partition does not have: deleted, or not written yet.
type OffsetError struct {
	Topic     string
	Partition int
	Offset    int64
}

// Error names the offset.
func (e *OffsetError) Error() string {
	return fmt.Sprintf("kafka: topic %q, partition %d: there is no offset %d", e.Topic, e.Partition, e.Offset)
}

// A tail is what is left of a range.
type tail struct {
	Range

	offset  int64 // of the next record
	limit   int32
	damaged int
	empty   int // answers in a row
	buf     []byte
}

// fail is an error at the next offset.
func (t *tail) fail(format string, args ...any) error {
	return fmt.Errorf("kafka: topic %q, partition %d, offset %d: "+format, append([]any{t.Topic, t.Partition, t.offset}, args...)...)
}

// batches hands on the records of the whole batches of one answer.
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
			if t.limit >= maxFetchBytes { // and not even one batch is whole
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

// nothing deals with an answer without a batch: the rest of the range was compacted away, or the
// log has become shorter.
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

// records hands on the records of a batch that lie in the range.
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
			continue // the answer begins with the batch that holds the offset
		case r.Offset >= t.End:
			return nil
		}
		if err := use(&r); err != nil {
			return err
		}
	}
}

// aborted knows the batches of aborted transactions: those of a producer from the first offset of
// its transaction up to its next marker.
type aborted struct {
	open      []fetch.ResponseTransaction // that have not begun, by their first offset
	producers map[int64]bool              // with one that has
}

// hides reports whether the records of a batch are not to be read.
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

// A fetcher prefetches one answer behind the one whose records are being read.
type fetcher struct {
	client  *Client
	of      *tail
	offset  int64
	limit   int32
	answers chan answered // of what was asked for; nil: nothing
	cancel  context.CancelFunc
}

type answered struct {
	fetched

	err error
}

// ask begins to fetch from an offset on.
func (f *fetcher) ask(ctx context.Context, offset int64, limit int32) {
	f.drop()
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answered, 1)
	f.offset, f.limit, f.answers, f.cancel = offset, limit, answers, cancel
	client, of := f.client, f.of.Range
	go func() {
		var a answered
		a.err = client.Retry(ctx, ofTopic(of.Topic, func(ctx context.Context) (err error) {
			a.fetched, err = client.fetch(ctx, of, offset, limit)
			return err
		}))
		answers <- a
	}()
}

// take returns the answer from an offset on, prefetched if that was asked for.
func (f *fetcher) take(ctx context.Context, offset int64, limit int32) (fetched, error) {
	if f.answers == nil || f.offset != offset || f.limit != limit {
		f.ask(ctx, offset, limit)
	}
	a := <-f.answers
	f.answers = nil
	f.cancel()
	return a.fetched, a.err
}

// drop ends what was asked for and not taken.
func (f *fetcher) drop() {
	if f.answers != nil {
		f.cancel()
		<-f.answers
		f.answers = nil
	}
}

// behindWhole is the offset behind the last whole batch by the lengths alone, −1 if there is none:
// a guess until the batches have been read.
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
